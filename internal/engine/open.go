package engine

import (
	"context"
	"fmt"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// An opener opens the backend once, for the first that asks. A failure is not kept: the user may have
// started the daemon since.
type opener struct {
	open func(context.Context) (backend.Backend, error)
	// turn holds the opened backend, or nil; whoever has taken it out may open or close.
	turn chan backend.Backend
}

func newOpener(open func(context.Context) (backend.Backend, error)) opener {
	o := opener{open: open, turn: make(chan backend.Backend, 1)}
	o.turn <- nil
	return o
}

// get returns the backend.
func (o opener) get(ctx context.Context) (backend.Backend, error) {
	select {
	case b := <-o.turn:
		defer func() { o.turn <- b }()
		if b != nil {
			return b, nil
		}
		var err error
		if b, err = o.open(ctx); err != nil {
			b = nil
			return nil, err
		}
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close closes the backend if it is open.
func (o opener) close(ctx context.Context) error {
	var b backend.Backend
	select {
	case b = <-o.turn: // also when ctx has ended
	default:
		select {
		case b = <-o.turn:
		case <-ctx.Done():
			return fmt.Errorf("engine: close backend: it is still being opened: %w", ctx.Err())
		}
	}
	o.turn <- b
	if b == nil {
		return nil
	}
	return b.Close(ctx)
}
