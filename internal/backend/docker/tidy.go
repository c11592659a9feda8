package docker

import (
	"context"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
)

const (
	// tidyTimeout bounds the removal of what dead servers left.
	tidyTimeout = 20 * time.Second
	// abandonedAfter is how long a server may take from making a container to starting it.
	abandonedAfter = 2 * stepTimeout
)

// tidy removes containers that nobody will start or remove any more.
//
// A running one is never touched: its agent ends with the connection to its server, so that it has one.
// One that has ended removes itself; what has not, was kept by an engine that broke down. One that was
// made and not started for long has lost its server in between.
//
// It looks when it is called, and then now and then until ctx ends.
func (e *engine) tidy(ctx context.Context) {
	tick := time.NewTicker(abandonedAfter)
	defer tick.Stop()
	for {
		e.tidyOnce(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (e *engine) tidyOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	list, err := e.api.Containers(ctx, api.Filters{"label": {labelRole}, "status": {"created", "exited", "dead"}})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		e.log.WarnContext(ctx, "look for containers of dead servers", "error", err)
		return
	}
	for _, c := range list {
		if c.State == "created" && e.age(c.Created) < abandonedAfter {
			continue
		}
		if err := e.remove(ctx, c.ID); err != nil && ctx.Err() == nil {
			e.log.WarnContext(ctx, "remove a container of a dead server", "container", c.ID, "error", err)
		}
	}
}

// age tells by the engine's clock, which may differ from ours, how old something is.
func (e *engine) age(created int64) time.Duration {
	return time.Since(time.Unix(created, 0)) - e.ahead
}
