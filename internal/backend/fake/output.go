package fake

import (
	"context"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// output holds the two streams of a program to a backend.OutputLimit.
type output struct {
	stdout, stderr *stream
}

// newOutput calls kill once when both streams together exceed the limit.
func newOutput(cmd backend.Command, kill func()) output {
	var mu sync.Mutex
	var total int64
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		total += int64(n)
		if cmd.Output.Kill > 0 && total > cmd.Output.Kill {
			kill()
		}
	}
	return output{
		stdout: &stream{to: cmd.Stdout, limit: cmd.Output, count: count},
		stderr: &stream{to: cmd.Stderr, limit: cmd.Output, count: count},
	}
}

// finish passes on the tails.
func (o output) finish() (stdout, stderr backend.Cut) { return o.stdout.finish(), o.stderr.finish() }

// A stream keeps everything in memory until the program has ended if a cut is possible, else it passes
// writes on at once.
type stream struct {
	to    io.Writer
	limit backend.OutputLimit
	count func(int)

	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (s *stream) Write(p []byte) (int, error) {
	s.count(len(p))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit.Head == 0 && s.limit.Tail == 0 {
		if s.to == nil {
			return len(p), nil
		}
		return s.to.Write(p)
	}
	s.kept = append(s.kept, p...)
	return len(p), nil
}

func (s *stream) finish() backend.Cut {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := int64(len(s.kept))
	if s.to == nil || size == 0 {
		return backend.Cut{}
	}
	if size <= s.limit.Head+s.limit.Tail {
		_, _ = s.to.Write(s.kept) // the reader of the stream is gone: there is no one to tell
		return backend.Cut{}
	}
	head, tail := s.limit.Head, size-s.limit.Tail
	for back := 0; back < utf8.UTFMax && head > 0 && !utf8.RuneStart(s.kept[head]); back++ {
		head--
	}
	for ahead := 0; ahead < utf8.UTFMax && tail < size && !utf8.RuneStart(s.kept[tail]); ahead++ {
		tail++
	}
	_, _ = s.to.Write(s.kept[:head])
	_, _ = s.to.Write(s.kept[tail:])
	return backend.Cut{Offset: head, Omitted: tail - head}
}

// stdin returns a reader that ends with the program, also when from blocks for ever.
func stdin(ctx context.Context, from io.Reader) io.Reader {
	r, w := io.Pipe()
	if from == nil {
		_ = w.Close()
		return r
	}
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(io.EOF) })
	go func() {
		_, err := io.Copy(w, from)
		_ = w.CloseWithError(err)
	}()
	return r
}
