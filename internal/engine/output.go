package engine

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A capture receives one output stream of one step. It keeps the bytes, or passes them on if there is
// someone who wants them live.
type capture struct {
	kept  bytes.Buffer
	live  io.Writer
	lines *lines
}

func newCapture(live io.Writer, report *reporter) *capture {
	return &capture{live: live, lines: report.lines()}
}

// Write implements io.Writer.
func (c *capture) Write(p []byte) (int, error) {
	c.lines.see(p)
	if c.live != nil {
		return c.live.Write(p)
	}
	return c.kept.Write(p)
}

// serial returns w with a lock around it, or nil for nil: a compiler's two streams go to one writer.
func serial(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	return &serialWriter{to: w}
}

type serialWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (s *serialWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}

// A text is the output of all steps on one stream.
type text struct {
	strings.Builder
	omitted int64
}

// add appends what a step wrote as valid UTF-8: each byte that is not part of a character becomes
// U+FFFD. At a cut stands a line that says so.
func (t *text) add(output []byte, cut backend.Cut) {
	if cut.Omitted == 0 {
		t.decode(output)
		return
	}
	at := min(max(cut.Offset, 0), int64(len(output)))
	t.omitted += cut.Omitted
	t.decode(output[:at])
	if at > 0 && output[at-1] != '\n' {
		t.WriteByte('\n')
	}
	fmt.Fprintf(t, "[... %s bytes omitted ...]\n", grouped(cut.Omitted))
	t.decode(output[at:])
}

func (t *text) decode(b []byte) {
	if utf8.Valid(b) {
		t.Write(b)
		return
	}
	for _, r := range string(b) {
		t.WriteRune(r) // ranging over a string gives U+FFFD for each bad byte
	}
}

// grouped writes a number with commas between its thousands.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var out strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	return out.String()
}
