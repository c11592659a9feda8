package docker

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/launch"
)

// A Backend makes containers. It connects when it is first used.
type Backend struct {
	options   Options
	sandboxes *launch.Set

	mu     sync.Mutex
	closed bool
	engine *engine // once it has answered
	// stopTidying ends the search for what dead servers left, which runs beside the first calls.
	stopTidying func()
}

// New returns a backend.
func New(o Options) *Backend {
	return &Backend{options: o, sandboxes: launch.NewSet(Name)}
}

// Name implements backend.Backend.
func (b *Backend) Name() string { return Name }

// Capabilities implements backend.Backend. They are the engine's, so it is asked if nobody did.
func (b *Backend) Capabilities() backend.Capabilities {
	ctx, cancel := context.WithTimeout(context.Background(), helloTimeout)
	defer cancel()
	e, err := b.connected(ctx)
	if err != nil {
		return backend.Capabilities{Isolation: "container", Images: true}
	}
	c := e.capabilities
	if b.options.Hardening.Privileged {
		c.Isolation = "none"
	}
	return c
}

// Probe implements backend.Backend. It makes no container: that would need an image.
func (b *Backend) Probe(ctx context.Context) error {
	_, err := b.connected(ctx)
	return err
}

// connected returns the engine.
func (b *Backend) connected(ctx context.Context) (*engine, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.engine != nil:
		return b.engine, nil
	case b.closed:
		return nil, backend.Wrap(backend.ErrUnavailable, errors.New("docker: the backend is closed"))
	}
	e, err := connect(ctx, b.options)
	if err != nil {
		return nil, err
	}
	e.pulls = newPulls(e) //nolint:contextcheck // a download outlives the request that began it
	e.agents = &delivery{engine: e, agent: b.options.Agent}
	e.fates = watch(e) //nolint:contextcheck // as long as the backend lives
	b.engine = e
	life, stop := context.WithCancel(context.WithoutCancel(ctx)) // it goes on when this request has ended
	var tidying sync.WaitGroup
	tidying.Go(func() { e.tidy(life) })
	b.stopTidying = func() { stop(); tidying.Wait() }
	return e, nil
}

// Create implements backend.Backend.
func (b *Backend) Create(ctx context.Context, spec backend.Spec) (backend.Sandbox, error) {
	if err := check(spec); err != nil {
		return nil, err
	}
	e, err := b.connected(ctx)
	if err != nil {
		return nil, err
	}
	return b.sandboxes.Create(ctx, func(ctx context.Context, id string) (launch.Agent, error) {
		return e.launch(ctx, id, spec, b.options.Hardening)
	})
}

// Close implements backend.Backend.
func (b *Backend) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	e := b.engine
	b.mu.Unlock()
	if e == nil {
		return nil
	}
	e.pulls.stop()
	err := b.sandboxes.Close(ctx)
	b.stopTidying()
	e.close()
	return err
}

// check refuses what this backend cannot do.
func check(spec backend.Spec) error {
	switch {
	case spec.Image == "":
		return backend.Wrap(backend.ErrInvalid, errors.New("docker: create container: no image is named"))
	case spec.Runtime != "":
		return backend.Wrap(backend.ErrUnsupported, fmt.Errorf("docker: runtime %s: containers have the runtimes of their image; name an image", spec.Runtime))
	case spec.Prefix != "" || spec.Scratch != "":
		return backend.Wrap(backend.ErrUnsupported, fmt.Errorf("docker: prefix %s: directories of this machine cannot be shown in containers", spec.Prefix+spec.Scratch))
	case spec.WorkDir != "" && !workable(spec.WorkDir):
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("docker: working directory %s: choose an absolute path that is not part of the system, such as %s", spec.WorkDir, backend.DefaultWorkDir))
	}
	return nil
}

// workable reports whether dir can be a file system of its own in a container.
func workable(dir string) bool {
	if !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/" {
		return false
	}
	top, _, _ := strings.Cut(dir[1:], "/")
	return top != "proc" && top != "sys" && top != "dev"
}
