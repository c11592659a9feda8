package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// headBytes and tailBytes are what is kept of a line that is too long: enough to find the id of
	// the request, which clients write first or last.
	headBytes = 4 << 10
	tailBytes = 256
)

// A line is one line of input without its line feed, or what is known of one that is too long.
type line struct {
	text []byte
	// head and tail are set, instead of text, for a line that is too long.
	head, tail []byte
	// err is set on the last line, which holds nothing else, if reading failed.
	err error
}

func (l line) tooLong() bool { return l.head != nil }

// A lineReader cuts a stream into lines and never holds more than max bytes of one.
type lineReader struct {
	r   *bufio.Reader
	max int64
}

func newLineReader(r io.Reader, limit int64) *lineReader {
	const buffer = 16 << 10
	return &lineReader{r: bufio.NewReaderSize(r, buffer), max: limit}
}

// next returns the next line. The error is io.EOF after the last one; what stands behind the last line
// feed counts as a line.
func (l *lineReader) next() (line, error) {
	var text []byte
	for {
		chunk, err := l.r.ReadSlice('\n')
		if int64(len(text)+len(bytes.TrimSuffix(chunk, []byte{'\n'}))) > l.max {
			return l.skip(text, chunk, err)
		}
		text = append(text, chunk...)
		switch {
		case err == nil:
			return line{text: text[:len(text)-1]}, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(text) > 0:
			return line{text: text}, nil
		case errors.Is(err, io.EOF):
			return line{}, io.EOF
		default:
			return line{}, fmt.Errorf("stdio: read: %w", err)
		}
	}
}

// skip reads to the end of a line that begins with text and chunk, and keeps its two ends. err came
// with chunk.
func (l *lineReader) skip(text, chunk []byte, err error) (line, error) {
	head := append(make([]byte, 0, headBytes), text[:min(len(text), headBytes)]...)
	head = append(head, chunk[:min(len(chunk), headBytes-len(head))]...)
	tail := lastBytes(nil, text)
	for {
		tail = lastBytes(tail, chunk)
		switch {
		case err == nil, errors.Is(err, io.EOF):
			return line{head: head, tail: tail}, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line{}, fmt.Errorf("stdio: read: %w", err)
		}
		chunk, err = l.r.ReadSlice('\n')
	}
}

// lastBytes returns the last tailBytes of tail and more together, in memory of its own.
func lastBytes(tail, more []byte) []byte {
	more = more[max(0, len(more)-tailBytes):]
	tail = tail[max(0, len(tail)+len(more)-tailBytes):]
	return append(append(make([]byte, 0, tailBytes), tail...), more...)
}
