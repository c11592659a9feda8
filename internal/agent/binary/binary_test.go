package binary_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/binary"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// TestFor: an agent is there, or the error says how to get a build that has it.
func TestFor(t *testing.T) {
	t.Parallel()
	for _, arch := range []string{"amd64", "arm64", "riscv64"} {
		b, err := binary.For(arch)
		switch {
		case err == nil && arch == "riscv64" && runtime.GOARCH != arch:
			t.Errorf("there is an agent for %s", arch)
		case err == nil && !strings.HasPrefix(string(b), "\x7fELF"):
			t.Errorf("the agent for %s begins with %q", arch, b[:min(len(b), 4)])
		case err != nil && (!errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "linux/"+arch) || !strings.Contains(err.Error(), "make build")):
			t.Errorf("%s: %v", arch, err)
		}
	}
}
