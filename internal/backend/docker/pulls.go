package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"golang.org/x/sync/singleflight"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
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
	done := p.flight.DoChan(ref, func() (any, error) {
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
	answer, err := e.api.ImagePull(ctx, ref, image.PullOptions{})
	if err == nil {
		err = errors.Join(progress(answer), answer.Close())
	}
	if err == nil {
		return nil
	}
	kind := backend.ErrUnavailable
	if cerrdefs.IsNotFound(err) {
		kind = backend.ErrNotFound
	}
	remedy := "check the name, or load it into the engine (docker load, docker import) and name it with SANDBOX_IMAGE_<LANGUAGE>"
	if client.IsErrConnectionFailed(err) {
		remedy = "start Docker again"
	}
	return backend.Wrap(kind, fmt.Errorf("docker: image %s is not there, and downloading it failed: %w; %s", ref, err, remedy))
}

// progress reads what the engine says of a download, to its end. A failure is among it.
func progress(r io.Reader) error {
	for messages := json.NewDecoder(r); ; {
		var message struct {
			Error string `json:"error"`
		}
		switch err := messages.Decode(&message); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case message.Error != "":
			return errors.New(message.Error)
		}
	}
}
