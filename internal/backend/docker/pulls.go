package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
)

// pullTimeout bounds the download of an image.
const pullTimeout = 15 * time.Minute

// pulls download images, each once for all that wait for it.
type pulls struct {
	engine *engine
	flight singleflight.Group
	stop   context.CancelFunc
	life   func() (context.Context, context.CancelFunc)
}

func newPulls(e *engine) *pulls {
	life, stop := context.WithCancel(context.Background())
	return &pulls{engine: e, stop: stop, life: func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(life, pullTimeout)
	}}
}

// pull returns when the engine has the image. A download goes on when the caller that began it has gone:
// the next one wants it, too.
func (p *pulls) pull(ctx context.Context, ref string) error {
	done := p.flight.DoChan(ref, func() (any, error) { //nolint:contextcheck // it outlives ctx
		ctx, cancel := p.life()
		defer cancel()
		p.engine.log.InfoContext(ctx, "downloading an image", "image", ref, "engine", p.engine.where.shown())
		began := time.Now()
		err := p.engine.download(ctx, ref)
		if err == nil {
			p.engine.log.InfoContext(ctx, "downloaded an image", "image", ref, "took", time.Since(began))
		}
		return nil, err
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *engine) download(ctx context.Context, ref string) error {
	err := e.api.Pull(ctx, ref)
	if err == nil {
		return nil
	}
	kind := backend.ErrUnavailable
	if errors.Is(err, api.ErrNotFound) {
		kind = backend.ErrNotFound
	}
	remedy := "check the name, or load it into the engine (docker load, docker import) and name it with SANDBOX_IMAGE_<LANGUAGE>"
	if unconnected(err) {
		remedy = "start Docker again"
	}
	return backend.Wrap(kind, fmt.Errorf("docker: image %s is not there, and downloading it failed: %w; %s", ref, err, remedy))
}
