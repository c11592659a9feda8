// Package seccomp holds the system call filter of the local sandboxes, compiled, and loads it. What the
// filter allows is in the package profile beside it.
package seccomp

import (
	"fmt"
	"runtime"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

//go:generate go run -tags libseccomp ./gen

// Filter returns the compiled filter for the processor this program was built for: an array of struct
// sock_filter, as seccomp(2) and `bwrap --seccomp` take it. The error wraps [backend.ErrUnsupported]
// on processors other than amd64 and arm64. The caller must not change the bytes.
func Filter() ([]byte, error) {
	if len(filter) == 0 {
		return nil, backend.Wrap(backend.ErrUnsupported, fmt.Errorf(
			"seccomp: load filter: there is none for %s; use amd64 or arm64, or a container backend", runtime.GOARCH))
	}
	return filter, nil
}
