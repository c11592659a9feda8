// Package binary gives out the agent as a program for Linux, for engines whose sandboxes cannot run the
// server's own file.
//
// A release holds the agents for all processors. Any other build for Linux is an agent itself, if it is
// static; see docs/adr/0008-agents-in-the-binary.md.
package binary

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// For returns the agent for a processor in Go's notation, such as "arm64". The error wraps
// [backend.ErrUnavailable] and says how to get a build that has it.
func For(arch string) ([]byte, error) {
	packed, err := embedded.ReadFile("agents/linux-" + arch + ".gz")
	switch {
	case err == nil:
		return unpack(packed)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("agent: %w", err)
	case runtime.GOOS == "linux" && runtime.GOARCH == arch:
		return own()
	}
	return nil, missing(arch, "this build has none")
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("agent: unpack: %w", err)
	}
	binary, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("agent: unpack: %w", err)
	}
	return binary, nil
}

// own returns this program, which is an agent when it is started under the agent's name.
func own() ([]byte, error) {
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("agent: read this program: %w", err)
	}
	file, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("agent: read this program: %w", err)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return nil, missing(runtime.GOARCH, "this build needs the libraries of this machine, which images may not have")
		}
	}
	return binary, nil
}

func missing(arch, why string) error {
	return backend.Wrap(backend.ErrUnavailable, fmt.Errorf(
		"agent: sandboxes of this engine need the agent for linux/%s: %s; use a release, or build the server with make build (or with CGO_ENABLED=0 on linux/%s)", arch, why, arch))
}
