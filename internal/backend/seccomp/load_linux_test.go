package seccomp_test

import (
	"strings"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/seccomp"
)

func TestLoadRefusesWhatIsNoProgram(t *testing.T) {
	t.Parallel()
	for name, filter := range map[string][]byte{
		"nothing":      nil,
		"half":         make([]byte, 12),
		"too long":     make([]byte, 8*4097),
		"no return":    make([]byte, 8),
		"unknown code": {0xff, 0xff, 0, 0, 0, 0, 0, 0},
	} {
		if err := seccomp.Load(filter); err == nil || !strings.HasPrefix(err.Error(), "seccomp: load filter: ") {
			t.Errorf("%s: got %v, want an error about the filter", name, err)
		}
	}
}
