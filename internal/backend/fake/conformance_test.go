package fake_test

import (
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/backendtest"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/fake"
)

// Not parallel: one case counts the goroutines of the whole process.
func TestConformance(t *testing.T) {
	backendtest.Suite{
		Open: func(*testing.T) backend.Backend { return fake.New(fake.Options{}) },
		Lacks: map[backendtest.Need]string{
			backendtest.NeedKernel: "programs are played, not run",
			backendtest.NeedPython: "there is no interpreter",
		},
	}.Run(t)
}
