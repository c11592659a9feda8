package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

const (
	// closeTimeout bounds the removal of one sandbox. What is left then is removed with the backend.
	closeTimeout = 10 * time.Second
	// maxClosings is how many sandboxes are removed at once, off the path of their calls. Further
	// calls wait, so that sandboxes cannot come faster than they go.
	maxClosings = 16
)

// closings removes sandboxes whose calls have been answered.
type closings struct {
	log    *slog.Logger
	places chan struct{}
	all    sync.WaitGroup
}

func newClosings(log *slog.Logger) *closings {
	return &closings{log: log, places: make(chan struct{}, maxClosings)}
}

// close removes a sandbox in the background, also after ctx has ended, and then calls after.
func (c *closings) close(ctx context.Context, sandbox backend.Sandbox, after func()) {
	c.places <- struct{}{}
	c.all.Go(func() {
		defer func() { <-c.places }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if err := sandbox.Close(ctx); err != nil {
			c.log.ErrorContext(ctx, "remove sandbox", "sandbox", sandbox.ID(), "error", err)
		}
		after()
	})
}

// wait returns when all are gone.
func (c *closings) wait() { c.all.Wait() }
