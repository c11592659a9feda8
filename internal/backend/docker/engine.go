package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
)

// searchTimeout bounds the wait for one of the usual places, helloTimeout that for an engine to say what
// it is: one that hangs accepts connections all the same.
const (
	searchTimeout = 2 * time.Second
	helloTimeout  = 10 * time.Second
)

// An engine is a Docker engine that has answered.
type engine struct {
	api   *api.Client
	where address
	log   *slog.Logger
	// arch is the processor in Go's notation.
	arch         string
	capabilities backend.Capabilities
	// ahead is by how much our clock is ahead of the engine's.
	ahead  time.Duration
	fates  *fates
	agents *delivery
	pulls  *pulls
	images sync.Map // the volumes of images that are there, by name
}

// connect finds an engine and asks it what it can do.
func connect(ctx context.Context, o Options) (*engine, error) {
	places, err := o.Endpoint.addresses()
	if err != nil {
		return nil, err
	}
	if len(places) == 0 {
		return nil, backend.Wrap(backend.ErrUnavailable, fmt.Errorf("docker: %w; start Docker, or say where it listens with DOCKER_HOST or docker context use", errNoSocket))
	}
	timeout := helloTimeout
	if len(places) > 1 {
		timeout = searchTimeout
	}
	var errs []error
	for _, place := range places {
		e, err := place.connect(ctx, o, timeout)
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (a *address) connect(ctx context.Context, o Options, timeout time.Duration) (*engine, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %v", timeout))
	defer cancel()
	client, err := a.open()
	if err != nil {
		return nil, err
	}
	if a.tls && !a.verify && strings.HasPrefix(a.host, "tcp:") {
		o.Logger.WarnContext(ctx, "the certificate of the engine is not checked", "engine", a.shown(), "from", a.from)
	}
	e := &engine{api: client, where: *a, log: o.Logger}
	if err := e.greet(ctx, o.Endpoint.APIVersion); err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = backend.Wrap(backend.ErrUnavailable, fmt.Errorf("docker: %s: %w; is the engine overloaded or stopped?", a.shown(), cause))
		}
		client.Close()
		return nil, err
	}
	return e, nil
}

// greet asks the engine for its version and its abilities.
func (e *engine) greet(ctx context.Context, version string) error {
	if err := e.api.Hello(ctx, version); err != nil {
		return e.unreachable(err)
	}
	info, err := e.api.Info(ctx)
	if err != nil {
		return e.unreachable(err)
	}
	if info.OSType != "linux" {
		return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("docker: the engine at %s runs %s containers; switch it to Linux containers", e.where.shown(), info.OSType))
	}
	e.arch = goArch(info.Architecture)
	e.capabilities = capabilities(info)
	if now, err := time.Parse(time.RFC3339Nano, info.SystemTime); err == nil {
		e.ahead = time.Since(now)
	}
	return nil
}

// goArch translates the machine name of uname(2).
func goArch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return machine
}

// capabilities says what the engine enforces. A rootless one without delegated control groups accepts
// limits, and has none.
func capabilities(info api.Info) backend.Capabilities {
	groups := info.CgroupDriver != "none"
	return backend.Capabilities{
		Isolation: "container", Images: true, HostNetwork: true,
		Memory: groups && info.MemoryLimit, CPU: groups && info.CPUCfsQuota, Processes: groups && info.PidsLimit,
		FileSize: true, OpenFiles: true,
	}
}

// unreachable explains an error of the first words with the engine.
func (e *engine) unreachable(err error) error {
	remedy := "start Docker, or say where it listens with DOCKER_HOST or docker context use"
	switch {
	case errors.Is(err, fs.ErrPermission):
		remedy = "let this user use the socket: sudo usermod -aG docker \"$USER\", then log in again"
	case !unconnected(err):
		remedy = "check what listens there, and which version it has: docker version"
	}
	return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("docker: the engine at %s (from %s): %w; %s", e.where.shown(), e.where.from, err, remedy))
}

// unconnected reports whether the engine could not even be reached.
func unconnected(err error) bool {
	_, ok := errors.AsType[*api.ConnectionError](err)
	return ok
}

func (e *engine) close() {
	e.fates.stop()
	e.api.Close()
}
