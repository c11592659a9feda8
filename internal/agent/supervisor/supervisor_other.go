//go:build !linux

package supervisor

import (
	"errors"
	"io"
	"runtime"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Serve says that a supervisor needs Linux.
func Serve(io.ReadWriteCloser, Options) error {
	return backend.Wrap(backend.ErrUnsupported, errors.New("agent: this is "+runtime.GOOS+"; the supervisor needs Linux"))
}

// Run says that a supervisor needs Linux by its exit status.
func Run(int, Options) int { return 1 }

// RunStdio says that a supervisor needs Linux by its exit status.
func RunStdio(Options) int { return 1 }
