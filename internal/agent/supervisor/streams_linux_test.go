package supervisor_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

func TestStreamsAreSeparateAndBinary(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		got := s.sh(`printf 'a\000\377\r\n'; printf 'b\n' >&2; printf c`)
		if got.stdout != "a\x00\xff\r\nc" || got.stderr != "b\n" {
			t.Errorf("got %q and %q", got.stdout, got.stderr)
		}
	})
}

func TestInput(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		big := bytes.Repeat([]byte("0123456789\x00\xff"), 1<<17)
		for name, test := range map[string]struct {
			stdin  io.Reader
			script string
			want   string
		}{
			"none":         {nil, "cat; echo end", "end\n"},
			"empty":        {strings.NewReader(""), "cat; echo end", "end\n"},
			"large":        {bytes.NewReader(big), "cat", string(big)},
			"not read":     {endless{}, "echo end", "end\n"},
			"closed early": {endless{}, "head -c 1 >/dev/null; exec <&-; echo end", "end\n"},
		} {
			cmd := shell(test.script)
			cmd.Stdin = test.stdin
			if got := s.start(t.Context(), cmd)(); got.stdout != test.want || got.Code != 0 {
				t.Errorf("%s: got %d bytes, %+v", name, len(got.stdout), got.Exit)
			}
		}
	})
}

// A program that does not read its input can be cancelled, and timed out.
func TestInputDoesNotHoldUpCancel(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := shell("echo ready; sleep 60")
		cmd.Stdin = endless{}
		cmd.Stdout = writerFunc(func([]byte) { cancel() })
		began := time.Now()
		if got := s.start(ctx, cmd)(); got.Outcome != backend.Cancelled || time.Since(began) > 2*time.Second {
			t.Errorf("got %+v after %v", got.Exit, time.Since(began))
		}
	})
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// Output arrives when it is written, not when the program ends.
func TestOutputIsLive(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		fromTest, toProgram := io.Pipe()
		cmd := shell("echo question; read answer; echo got $answer")
		cmd.Stdin = fromTest
		cmd.Output = backend.OutputLimit{Head: 1 << 10, Tail: 1 << 10}
		var out bytes.Buffer
		cmd.Stdout = writerFunc(func(p []byte) {
			if out.Write(p); out.String() == "question\n" {
				go io.WriteString(toProgram, "yes\n")
			}
		})
		if got := s.start(t.Context(), cmd)(); got.Code != 0 || out.String() != "question\ngot yes\n" {
			t.Errorf("got %q, %+v", out.String(), got.Exit)
		}
		_ = toProgram.Close()
	})
}

func TestOutputLimits(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		cmd := shell("yes | head -c 5000000; printf the-end; seq 300000 >&2")
		cmd.Output = backend.OutputLimit{Head: 10, Tail: 7}
		got := s.start(t.Context(), cmd)()
		if got.stdout != "y\ny\ny\ny\ny\nthe-end" || got.Stdout != (backend.Cut{Offset: 10, Omitted: 5000007 - 17}) {
			t.Errorf("standard output: got %q, %+v", got.stdout, got.Stdout)
		}
		if got.stderr != "1\n2\n3\n4\n5\n300000\n" || got.Stderr.Offset != 10 {
			t.Errorf("standard error: got %q, %+v", got.stderr, got.Stderr)
		}
	})
}

func TestTooMuchOutputKills(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		cmd := shell("yes & yes >&2")
		cmd.Output = backend.OutputLimit{Head: 10, Tail: 10, Kill: 1 << 20}
		got := s.start(t.Context(), cmd)()
		if got.Outcome != backend.OutputLimited || len(got.stdout) > 20 || len(got.stderr) > 20 || got.Stdout.Omitted+got.Stderr.Omitted < 1<<20-100 {
			t.Errorf("endless: got %+v, %q", got.Exit, got.stdout)
		}
		// One that ends by itself, before anybody has looked, has written as much.
		cmd = shell("printf %2000s x")
		cmd.Output = backend.OutputLimit{Kill: 1000}
		if got := s.start(t.Context(), cmd)(); got.Outcome != backend.OutputLimited {
			t.Errorf("short: got %+v", got.Exit)
		}
		cmd = shell("printf %1000s x")
		cmd.Output = backend.OutputLimit{Kill: 1000}
		if got := s.start(t.Context(), cmd)(); got.Outcome != backend.Exited {
			t.Errorf("just within: got %+v", got.Exit)
		}
	})
}

// Whoever takes the output slowly slows the program down, and gets all of it.
func TestSlowReader(t *testing.T) {
	each(t, func(t *testing.T, s *sandbox) {
		cmd := shell("seq 400000")
		want, got := 0, 0
		for n := 1; n <= 400000; n++ {
			want += len(strings.TrimLeft(strings.Repeat(" ", 8), " ")) + digits(n) + 1
		}
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		cmd.Stdout = writerFunc(func(p []byte) { got += len(p); <-tick.C })
		if end := s.start(t.Context(), cmd)(); got != want || end.Code != 0 {
			t.Errorf("got %d bytes, want %d; %+v", got, want, end.Exit)
		}
	})
}

func digits(n int) int {
	d := 1
	for ; n >= 10; n /= 10 {
		d++
	}
	return d
}
