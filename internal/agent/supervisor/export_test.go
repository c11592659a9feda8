//go:build linux

package supervisor

import (
	"io"
	"slices"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Keep sends a stream in pieces through what keeps its beginning and its end.
func Keep(w io.Writer, limit backend.OutputLimit, stream []byte, piece int) backend.Cut {
	o := newOutput(w, limit)
	buf := make([]byte, piece)
	for p := range slices.Chunk(stream, piece) {
		o.write(buf[:copy(buf, p)]) // as a reader does, which fills the same buffer again and again
	}
	return o.finish()
}

// Unpack unpacks an archive below dir.
func Unpack(dir string, archive io.Reader) error { return unpack(dir, archive) }

// Listen reads what a server sends to a running program, and returns the input that was for it and
// whether it was cancelled.
func Listen(frames io.Reader) (input []byte, cancelled bool) {
	o := newOrders()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for b := range o.input {
			input = append(input, b...)
		}
	}()
	o.listen(agent.NewReader(frames))
	<-done
	select {
	case <-o.cancelled:
		cancelled = true
	default:
	}
	return input, cancelled
}

// Counted reads the control groups of a process whose /proc/self/cgroup is list.
func Counted(root, list string) backend.Counters { return ownGroups(root, list).counters() }
