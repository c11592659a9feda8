package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// scratch is where the binary under test and the home directory of its servers are.
var scratch string

func TestMain(m *testing.M) { os.Exit(inScratch(m.Run)) }

// inScratch runs the tests with a scratch directory that is removed afterwards.
func inScratch(run func() int) int {
	var err error
	if scratch, err = os.MkdirTemp("", "llm-sandbox-mcp-test-"); err != nil {
		fmt.Fprintln(os.Stderr, "make scratch directory:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	// Under nohup, servers would inherit that a hangup is ignored; what is notified of is not inherited.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	return run()
}

// binary builds the server once.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "llm-sandbox-mcp")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// serverOptions is a server on the native backend, with a clean environment and a directory of its own
// for temporary files. Pairs in env come last and win.
func serverOptions(t testing.TB, env ...string) mcptest.Options {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(scratch, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	return mcptest.Options{Path: path, Env: append([]string{
		"BACKEND=native",
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin",
		"HOME=" + home,
		"TMPDIR=" + t.TempDir(),
	}, env...)}
}

// A starter starts a server and does the handshake.
type starter func(t testing.TB, env ...string) *mcptest.Server

// startServer starts a server of serverOptions.
func startServer(t testing.TB, env ...string) *mcptest.Server {
	t.Helper()
	s := mcptest.Start(t, serverOptions(t, env...))
	s.Initialize(t)
	return s
}

// execute runs code and fails the test if the server does not answer with the result of a run in time.
func execute(t testing.TB, s *mcptest.Server, language, code string, d time.Duration) mcptest.Result {
	t.Helper()
	r, err := s.Call("execute_code", map[string]any{"language": language, "code": code}, d)
	if err != nil {
		t.Fatalf("execute_code: %v", err)
	}
	if !r.Ran {
		t.Fatalf("execute_code did not run: %+v", r)
	}
	return r
}

// printsOne fails the test unless the server still runs code.
func printsOne(t testing.TB, s *mcptest.Server) {
	t.Helper()
	if r := execute(t, s, "python", "print(1)", time.Minute); r.ExitCode != 0 || r.Stdout != "1\n" {
		t.Errorf("print(1) afterwards: exit code %d, stdout %q, stderr %q", r.ExitCode, r.Stdout, r.Stderr)
	}
}
