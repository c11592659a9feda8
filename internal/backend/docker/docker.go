// Package docker runs programs in containers of a Docker engine, on this machine or another.
//
// Isolates: what the engine isolates, which is namespaces and control groups on a kernel that containers
// share, with a read-only root, an ordinary user without capabilities, no_new_privs and, inside of the
// engine's own, the system call filter that all sandboxes have.
// Does not isolate: the kernel. An engine may run containers in virtual machines; that is its business.
// Needs: a Docker engine with API 1.41 (Docker 20.10) or later and Linux containers.
package docker

import (
	"log/slog"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Name is the value of BACKEND for this backend.
const Name = "docker"

// Options configure the backend.
type Options struct {
	Logger *slog.Logger
	// Endpoint says where the engine is.
	Endpoint Endpoint
	// Agent returns the agent's binary for Linux on a processor in Go's notation, such as "arm64".
	Agent func(arch string) ([]byte, error)
	// Hardening is what containers get beyond limits.
	Hardening Hardening
}

// Hardening is what users can loosen or tighten of the containers themselves.
type Hardening struct {
	// ReadOnly makes the root file system read-only.
	ReadOnly bool
	// Privileged gives containers every privilege, and root inside.
	Privileged bool
	// CapDrop are the capabilities that containers lose.
	CapDrop []string
	// SecurityOpt are options in the engine's own notation, with the text of a seccomp profile in place
	// of its path.
	SecurityOpt []string
	// Filter puts the built-in system call filter over the programs.
	Filter bool
}

var (
	_ backend.Backend    = (*Backend)(nil)
	_ backend.ImageStore = (*Backend)(nil)
)
