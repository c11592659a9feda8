package docker_test

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/backendtest"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/docker"
)

// The engine of the tests and the image that it has, as scripts/test-docker.sh makes them.
const image = "llm-sandbox-test/python"

func host() string { return os.Getenv("SANDBOX_TEST_DOCKER") }

var hardening = docker.Hardening{
	ReadOnly: true, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges:true"}, Filter: true,
}

func options(t testing.TB) docker.Options {
	t.Helper()
	return docker.Options{
		Logger:    slog.New(slog.NewTextHandler(t.Output(), nil)),
		Endpoint:  docker.Endpoint{Host: host()},
		Agent:     agentBinary,
		Hardening: hardening,
	}
}

// agentBinary builds the agent once.
func agentBinary(arch string) ([]byte, error) { return built(arch) }

var built = func() func(string) ([]byte, error) {
	var mu sync.Mutex
	binaries := map[string][]byte{}
	return func(arch string) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if b, ok := binaries[arch]; ok {
			return b, nil
		}
		dir, err := os.MkdirTemp("", "agent")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		name := filepath.Join(dir, "sandbox-agent")
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", name, "../../../cmd/sandbox-agent")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if _, err := cmd.Output(); err != nil {
			return nil, err
		}
		binaries[arch], err = os.ReadFile(name)
		return binaries[arch], err
	}
}()

func TestConformance(t *testing.T) {
	needEngine(t)
	backendtest.Suite{
		Open: func(t *testing.T) backend.Backend {
			t.Helper()
			return docker.New(options(t))
		},
		Spec:   func(*testing.T) backend.Spec { return backend.Spec{Image: image} },
		Python: "/usr/bin/python3",
		Lacks: map[backendtest.Need]string{
			backendtest.NeedDisk:   "each writable directory of a container has the limit for itself",
			backendtest.NeedPrefix: "directories of this machine cannot be shown in containers",
		},
	}.Run(t)
}
