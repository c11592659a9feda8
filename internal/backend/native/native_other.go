//go:build !linux

package native

import (
	"context"
	"errors"
	"runtime"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A Backend says that it needs Linux.
type Backend struct{}

var _ backend.Backend = (*Backend)(nil)

// New returns a backend that makes no sandboxes.
func New(Options) *Backend { return &Backend{} }

// Name implements backend.Backend.
func (*Backend) Name() string { return Name }

// Capabilities implements backend.Backend.
func (*Backend) Capabilities() backend.Capabilities {
	return backend.Capabilities{Isolation: "namespace"}
}

var errSystem = backend.Wrap(backend.ErrUnavailable, errors.New("native: this is "+runtime.GOOS+
	", and namespaces are a part of Linux; run this server on Linux or in a Linux virtual machine"))

// Probe implements backend.Backend.
func (*Backend) Probe(context.Context) error { return errSystem }

// Create implements backend.Backend.
func (*Backend) Create(context.Context, backend.Spec) (backend.Sandbox, error) { return nil, errSystem }

// Close implements backend.Backend.
func (*Backend) Close(context.Context) error { return nil }
