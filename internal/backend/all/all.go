// Package all knows the backends of this build and opens the one that is asked for.
package all

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Options are the settings that drivers share.
type Options struct {
	Logger *slog.Logger
	// Path and Home are PATH and HOME of the server, for finding programs.
	Path, Home string
	// Isolation is what the user asks of sandboxes beyond limits.
	Isolation Isolation
	// Docker says where Docker is.
	Docker DockerEndpoint
	// Agent returns the agent's binary for Linux on a processor in Go's notation.
	Agent func(arch string) ([]byte, error)
}

// DockerEndpoint is a docker.Endpoint, which a build without that backend lacks.
type DockerEndpoint struct {
	Host, TLSVerify, CertPath string
	Context, APIVersion       string
	ConfigDir                 string
	Home, RuntimeDir          string
}

// A driver is one backend of this build.
//
// To add one, write its package and a file here that adds its driver in an init function of one line,
// with the build tag !omit_NAME.
type driver struct {
	name string
	// rank orders the drivers when the choice is left to us, the lowest first.
	rank int
	// check refuses settings that the backend cannot honour, naming the variable.
	check func(Isolation) error
	open  func(Options) backend.Backend
}

// drivers is filled by the init functions of this package and does not change after that.
var drivers []driver

// needsElsewhere says what a backend needs on the host that users of the Python project know and that
// this build does not have.
func needsElsewhere(name string) (needs string, known bool) {
	switch name {
	case "docker", "micromamba":
		return "docker", true
	case "podman":
		return "podman", true
	case "kubernetes":
		return "a cluster", true
	case "bubblewrap":
		return "bwrap, from the package bubblewrap", true
	case "nsjail":
		return "nsjail", true
	case "wsl2-bubblewrap":
		return "WSL 2 and bwrap", true
	case "windows-mxc":
		return "Windows", true
	}
	return "", false
}

// Names returns the backends of this build in the order in which [Auto] tries them.
func Names() []string {
	var names []string
	for _, d := range ranked() {
		names = append(names, d.name)
	}
	return names
}

func ranked() []driver {
	return slices.SortedFunc(slices.Values(drivers), func(a, b driver) int { return a.rank - b.rank })
}

// Auto leaves the choice of a backend to [Open].
const Auto = "auto"

const (
	// probeTimeout bounds the time that a backend may take to say whether it works.
	probeTimeout = 30 * time.Second
	// searchTimeout is the same while others are still to be tried: a daemon that hangs must not stop
	// the search.
	searchTimeout = 5 * time.Second
)

// Open returns the backend of that name after it has proved that it works here, or the first of those
// in this build that does for [Auto]. A backend that was asked for by name is never replaced by
// another. The error says what this build has, or why each does not work.
func Open(ctx context.Context, name string, o Options) (backend.Backend, error) {
	if name == Auto {
		return choose(ctx, o)
	}
	if err := Check(name); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(drivers, func(d driver) bool { return d.name == name })
	b, err := drivers[i].try(ctx, o, probeTimeout)
	if err != nil {
		return nil, err
	}
	o.Logger.InfoContext(ctx, "backend opened", "backend", name, "isolation", b.Capabilities().Isolation)
	return b, nil
}

// choose returns the first backend that works.
func choose(ctx context.Context, o Options) (backend.Backend, error) {
	var errs []error
	for i, d := range ranked() {
		timeout := searchTimeout
		if i == len(drivers)-1 {
			timeout = probeTimeout
		}
		b, err := d.try(ctx, o, timeout)
		if err == nil {
			o.Logger.InfoContext(ctx, "backend chosen", "backend", d.name, "isolation", b.Capabilities().Isolation,
				"why", "BACKEND is not set, and this is the first of "+strings.Join(Names(), ", ")+" that works here")
			return b, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		o.Logger.InfoContext(ctx, "backend passed over", "backend", d.name, "reason", err)
		errs = append(errs, err)
	}
	switch len(errs) {
	case 0:
		return nil, backend.Wrap(backend.ErrUnavailable, errors.New("BACKEND: this build has no backend; build it without omit tags"))
	case 1:
		return nil, errs[0]
	default:
		return nil, backend.Wrap(backend.ErrUnavailable, fmt.Errorf("no backend works here: %w; run llm-sandbox-mcp doctor", errors.Join(errs...)))
	}
}

// try opens a backend and makes it prove that it works.
func (d driver) try(ctx context.Context, o Options, timeout time.Duration) (backend.Backend, error) {
	if err := d.check(o.Isolation); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%s: no answer within %v", d.name, timeout))
	defer cancel()
	b := d.open(o)
	err := b.Probe(ctx)
	if err == nil {
		return b, nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = backend.Wrap(backend.ErrUnavailable, fmt.Errorf("%w: %w", context.Cause(ctx), err))
	}
	return nil, errors.Join(err, b.Close(context.WithoutCancel(ctx)))
}

// Check returns an error that lists the backends of this build if name is neither one of them nor
// [Auto].
func Check(name string) error {
	names := append([]string{Auto}, Names()...)
	if slices.Contains(names, name) {
		return nil
	}
	has := "set it to one of: " + strings.Join(names, ", ")
	if needs, ok := needsElsewhere(name); ok {
		return backend.Wrap(backend.ErrUnavailable,
			fmt.Errorf("BACKEND=%s: this build has no %s backend, which needs %s; %s", name, name, needs, has))
	}
	// The words about SandboxBackend are what clients of the Python project look for.
	return backend.Wrap(backend.ErrInvalid, fmt.Errorf("BACKEND: %q is not a valid SandboxBackend; %s", name, has))
}
