// Package native runs programs in Linux namespaces that it makes itself: no daemon, no image, nothing
// to install.
//
// Isolates: user, pid, mount, network, ipc, uts and cgroup namespaces, a read-only root with the
// host's runtimes, an unprivileged user without capabilities, no_new_privs, seccomp and Landlock.
// Does not isolate: the kernel itself is shared with the host, and so is what the host keeps in /usr.
// Needs: Linux 5.12 or later with user namespaces; control groups for the limits of a whole sandbox.
package native

import (
	"context"
	"log/slog"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Name is the value of BACKEND for this backend.
const Name = "native"

// Options configure the backend.
type Options struct {
	// Logger gets what the user should know once, such as limits that cannot be enforced.
	Logger *slog.Logger
	// Finder finds the host's runtimes.
	Finder Finder
}

// A Finder finds the host's language runtimes, see [backend.HostRuntimes].
type Finder interface {
	Locate(ctx context.Context, need backend.Need) (backend.Runtime, error)
	// Mounts are the directories outside of /usr that the runtime with this ID needs.
	Mounts(id string) []string
}
