package native_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/backendtest"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/native"
)

func open(t testing.TB) backend.Backend {
	t.Helper()
	return native.New(native.Options{
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Finder: jail.NewFinder(jail.FinderOptions{Path: os.Getenv("PATH"), Home: os.Getenv("HOME")}),
	})
}

func TestConformance(t *testing.T) {
	backendtest.Suite{Open: func(t *testing.T) backend.Backend {
		t.Helper()
		return open(t)
	}}.Run(t)
}
