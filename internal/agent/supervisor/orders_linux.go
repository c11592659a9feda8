package supervisor

import (
	"bytes"
	"os"
	"sync"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
)

// orders are what the server sends to a running program: its standard input, and the order to stop.
type orders struct {
	cancelled chan struct{}
	// input has room for the one frame that the server may send before it is asked for the next.
	input chan []byte
}

func newOrders() *orders {
	return &orders{cancelled: make(chan struct{}), input: make(chan []byte, 1)}
}

// listen reads to the end of the stream, which is also an order to stop; so is whatever breaks the
// protocol.
func (o *orders) listen(r *agent.Reader) {
	cancel := sync.OnceFunc(func() { close(o.cancelled) })
	endInput := sync.OnceFunc(func() { close(o.input) })
	defer endInput()
	defer cancel()
	for open := true; ; {
		t, payload, err := r.Next()
		switch {
		case err != nil:
			return
		case t == agent.TypeCancel:
			cancel()
		case t == agent.TypeEOF:
			open = false
			endInput()
		case t == agent.TypeData && open:
			select {
			case o.input <- bytes.Clone(payload):
			default:
				return
			}
		default:
			return
		}
	}
}

// feed hands the input on. A program need not read it: then the server is not asked for more.
func (o *orders) feed(stdin *os.File, w *agent.Writer) {
	defer stdin.Close() //nolint:errcheck // pipes closes it too
	for chunk := range o.input {
		if _, err := stdin.Write(chunk); err != nil {
			return
		}
		if err := w.Write(agent.TypeNext, nil); err != nil {
			return
		}
	}
}
