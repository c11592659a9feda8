package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// minAPI is the oldest version of the API that is spoken: that of Docker 20.10.
const minAPI = "1.41"

// searchTimeout bounds the wait for one of the usual places, callTimeout that for an engine to say what
// it is: one that hangs accepts connections all the same.
const (
	searchTimeout = 2 * time.Second
	helloTimeout  = 10 * time.Second
)

// An engine is a Docker engine that has answered.
type engine struct {
	api   *client.Client
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
	api, err := a.open(o.Endpoint.APIVersion)
	if err != nil {
		return nil, err
	}
	e := &engine{api: api, where: *a, log: o.Logger}
	if err := e.greet(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = backend.Wrap(backend.ErrUnavailable, fmt.Errorf("docker: %s: %w; is the engine overloaded or stopped?", a.shown(), cause))
		}
		return nil, errors.Join(err, api.Close())
	}
	return e, nil
}

// greet asks the engine for its version and its abilities.
func (e *engine) greet(ctx context.Context) error {
	if _, err := e.api.Ping(ctx); err != nil {
		return e.unreachable(err)
	}
	if _, err := e.api.ServerVersion(ctx); err != nil { // the ping of an engine that is too new or too old succeeds
		return e.unreachable(err)
	}
	if version := e.api.ClientVersion(); versions.LessThan(version, minAPI) {
		return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("docker: the engine at %s speaks API %s, and %s is needed; update it to Docker 20.10 or later", e.where.shown(), version, minAPI))
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
func capabilities(info system.Info) backend.Capabilities {
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
	case !client.IsErrConnectionFailed(err) && !errors.Is(err, fs.ErrNotExist):
		remedy = "look into the engine's log"
	}
	return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("docker: the engine at %s (from %s): %w; %s", e.where.shown(), e.where.from, err, remedy))
}

func (e *engine) close() error {
	e.fates.stop()
	return e.api.Close()
}
