package native

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail/cgroup"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/launch"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/seccomp"
)

var (
	_ backend.Backend      = (*Backend)(nil)
	_ backend.HostRuntimes = (*Backend)(nil)
)

// A Backend makes sandboxes of namespaces. It does nothing until it is first used.
type Backend struct {
	log    *slog.Logger
	finder Finder
	// host is what is found out once, on first use.
	host func() (*host, error)

	sandboxes *launch.Set
	closed    atomic.Bool
	// release gives back what host has taken, once.
	release func() error

	mu    sync.Mutex
	roots map[string]rootAt // by Spec.Runtime
}

// A rootAt is a root as the host was at a time.
type rootAt struct {
	root jail.Root
	time time.Time
}

// rootAge is how long a root is believed: looking at the host takes half a millisecond of every call,
// and what was installed since the last look should be there all the same.
const rootAge = 2 * time.Second

// New returns a backend.
func New(o Options) *Backend {
	b := &Backend{log: o.Logger, finder: o.Finder, sandboxes: launch.NewSet(Name), roots: map[string]rootAt{}}
	b.host = sync.OnceValues(b.prepare)
	b.release = sync.OnceValue(func() error {
		host, err := b.host()
		if err != nil {
			return nil //nolint:nilerr // then there is nothing to give back
		}
		return host.close()
	})
	return b
}

// Name implements backend.Backend.
func (b *Backend) Name() string { return Name }

// Capabilities implements backend.Backend. Which limits hold for a sandbox as a whole depends on the
// control groups that this process may use.
func (b *Backend) Capabilities() backend.Capabilities {
	c := backend.Capabilities{Isolation: "namespace", Disk: true, FileSize: true, OpenFiles: true, Prefix: true}
	if host, err := b.host(); err == nil {
		controllers := host.cgroups.Controllers()
		c.Memory, c.CPU, c.Processes = controllers.Memory, controllers.CPU, controllers.Processes
	}
	return c
}

// Limited says, for doctor, which limits control groups enforce, with which version, and why others
// are not.
func (b *Backend) Limited() (version, why string, err error) {
	host, err := b.host()
	if err != nil {
		return "", "", err
	}
	c := host.cgroups.Controllers()
	return c.Version, c.Why, nil
}

// Probe implements backend.Backend by making a sandbox.
func (b *Backend) Probe(ctx context.Context) error {
	sandbox, err := b.Create(ctx, backend.Spec{})
	if err != nil {
		return err
	}
	return sandbox.Close(ctx)
}

// Locate implements backend.HostRuntimes.
func (b *Backend) Locate(ctx context.Context, need backend.Need) (backend.Runtime, error) {
	return b.finder.Locate(ctx, need)
}

// Close implements backend.Backend.
func (b *Backend) Close(ctx context.Context) error {
	b.closed.Store(true)
	return errors.Join(b.sandboxes.Close(ctx), b.release())
}

var errClosed = backend.Wrap(backend.ErrUnavailable, errors.New("native: the backend is closed"))

// host is what all sandboxes of a backend share.
type host struct {
	cgroups *cgroup.Manager
	tree    *cgroup.Tree
	janitor *janitor
	filter  []byte
	ids     *identities
}

// prepare finds out what this host can do and removes what dead servers left.
func (b *Backend) prepare() (*host, error) {
	if b.closed.Load() {
		return nil, errClosed
	}
	filter, err := seccomp.Filter()
	if err != nil {
		return nil, backend.Wrap(backend.ErrUnavailable, fmt.Errorf("native: system call filter: %w", err))
	}
	cgroups, err := cgroup.Detect()
	if err != nil {
		return nil, backend.Wrap(backend.ErrUnavailable, fmt.Errorf("native: control groups: %w", err))
	}
	if why := cgroups.Controllers().Why; why != "" {
		b.log.Warn("some limits hold per process only", slog.String("backend", Name), slog.String("why", why))
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	if err := cgroup.Sweep(ctx); err != nil {
		b.log.Warn("remove control groups of dead servers", slog.Any("error", err))
	}
	owner, err := cgroup.Owner()
	if err != nil {
		return nil, backend.Wrap(backend.ErrUnavailable, fmt.Errorf("native: %w; mount /proc", err))
	}
	// A process may have several backends, one after the other; each owns a tree.
	owner += "-" + randomID()
	janitor, err := startJanitor(owner)
	if err != nil {
		return nil, err
	}
	tree, err := cgroups.Open(owner)
	if err != nil {
		return nil, errors.Join(backend.Wrap(backend.ErrUnavailable, fmt.Errorf("native: control groups: %w", err)), janitor.close())
	}
	return &host{cgroups: cgroups, tree: tree, janitor: janitor, filter: filter, ids: newIdentities()}, nil
}

func (h *host) close() error { return errors.Join(h.tree.Close(), h.janitor.close()) }

// check refuses what this backend cannot do.
func check(spec backend.Spec) error {
	switch {
	case spec.Image != "":
		return backend.Wrap(backend.ErrUnsupported, fmt.Errorf("native: image %s: this backend uses the host's runtimes, not images; choose docker or podman for images", spec.Image))
	case spec.Network != "" && spec.Network != backend.NetworkNone:
		return backend.Wrap(backend.ErrUnsupported, fmt.Errorf("native: network %q: this backend has no network but loopback; set SANDBOX_NETWORK_MODE to none or leave it out", spec.Network))
	case spec.Prefix != "" && !filepath.IsAbs(spec.Prefix):
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("native: prefix %s: not an absolute path", spec.Prefix))
	case spec.Scratch != "" && !strings.HasPrefix(spec.Scratch, backend.PrefixDir+"/"):
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("native: scratch %s: not below %s", spec.Scratch, backend.PrefixDir))
	case spec.WorkDir != "" && !workable(spec.WorkDir):
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("native: working directory %s: choose an absolute path that is not part of the system, such as %s", spec.WorkDir, backend.DefaultWorkDir))
	}
	return nil
}

// workable reports whether dir can be a directory of its own in the root.
func workable(dir string) bool {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || dir == "/" {
		return false
	}
	top, _, _ := strings.Cut(dir[1:], "/")
	switch top {
	case "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "proc", "sys", "dev", "run", "opt":
		return false
	}
	return true
}

// root describes the root directory for a spec.
func (b *Backend) root(spec backend.Spec) jail.Root {
	root := b.hostRoot(spec.Runtime)
	if spec.Prefix != "" {
		root.Binds = append(slices.Clip(root.Binds), jail.Bind{Source: spec.Prefix, Target: backend.PrefixDir})
	}
	return root
}

// hostRoot describes the root directory with a runtime.
func (b *Backend) hostRoot(runtime string) jail.Root {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, ok := b.roots[runtime]; ok && time.Since(at.time) < rootAge {
		return at.root
	}
	var extra []string
	if runtime != "" {
		extra = b.finder.Mounts(runtime)
	}
	root := jail.HostRoot(extra)
	b.roots[runtime] = rootAt{root, time.Now()}
	return root
}

// executable is this binary, also when its file was replaced or its directory cannot be entered.
const executable = "/proc/self/exe"
