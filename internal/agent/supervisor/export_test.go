package supervisor

import (
	"io"
	"slices"

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
