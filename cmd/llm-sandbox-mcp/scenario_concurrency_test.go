package main_test

import (
	"bytes"
	"fmt"
	"image/png"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// sendAll sends the calls at once and returns the requests in their order.
func sendAll(t *testing.T, s *mcptest.Server, calls []map[string]any) []*mcptest.Request {
	t.Helper()
	var requests []*mcptest.Request
	for _, arguments := range calls {
		r, err := s.SendCall("execute_code", arguments)
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, r)
	}
	return requests
}

// voicetreelab/lazy-mcp#8, anthropics/claude-agent-sdk-typescript#122: parallel calls.
func TestCONC01TwentyParallelCalls(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	var calls []map[string]any
	for k := range 20 {
		calls = append(calls, map[string]any{"code": fmt.Sprintf("import time; time.sleep(1); print(\"job %d\")", k)})
	}
	began := time.Now()
	for k, request := range sendAll(t, s, calls) {
		r, err := request.Result(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("job %d\n", k); r.ExitCode != 0 || r.Stdout != want {
			t.Errorf("call %d: exit code %d, stdout %q, stderr %q", k, r.ExitCode, r.Stdout, r.Stderr)
		}
	}
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("20 calls of a second took %v", d)
	}
	if !eventually(10*time.Second, func() bool { return !anyRuns(s) }) {
		t.Errorf("left: %q", commandLines(descendants(s.PID())))
	}
}

// anyRuns reports whether a program of a call runs: the server's sandboxes in waiting have none.
func anyRuns(s *mcptest.Server) bool {
	for _, line := range commandLines(descendants(s.PID())) {
		if bytes.Contains([]byte(line), []byte("main.py")) {
			return true
		}
	}
	return false
}

// vndee/llm-sandbox#152, xuzhougeng/wisp-science#911: plots of parallel calls are mixed up.
func TestCONC03ParallelPlots(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	needsMatplotlib(t, s)
	var calls []map[string]any
	for k := range 8 {
		calls = append(calls, map[string]any{"timeout": 120, "code": fmt.Sprintf(
			"import matplotlib.pyplot as plt\nplt.figure(figsize=(%d, 2), dpi=100)\nplt.plot([1, 2])\nplt.show()\n", k+1)})
	}
	for k, request := range sendAll(t, s, calls) {
		r, err := request.Result(3 * time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Images) != 1 {
			t.Errorf("call %d: %d images, %s", k, len(r.Images), r.Text)
			continue
		}
		picture, err := png.DecodeConfig(bytes.NewReader(r.Images[0].Data))
		if err != nil || picture.Width != 100*(k+1) {
			t.Errorf("call %d: width %d, want %d: %v", k, picture.Width, 100*(k+1), err)
		}
	}
}

// scottcrosby-securebine/kali-mcp-server#47: failing calls among good ones.
func TestCONC05FailingAmongGoodCalls(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	var calls []map[string]any
	for k := range 7 {
		calls = append(calls, map[string]any{"code": fmt.Sprintf("print(%d)", k)})
	}
	calls = append(calls,
		map[string]any{"code": "while True: pass", "timeout": 3},
		map[string]any{"code": "import os; os.kill(os.getpid(), 9)"},
		map[string]any{"code": "x", "language": "cobol"})
	for k, request := range sendAll(t, s, calls) {
		r, err := request.Result(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if k < 7 && (r.ExitCode != 0 || r.Stdout != fmt.Sprintf("%d\n", k)) || k >= 7 && !r.Failed() {
			t.Errorf("call %d: exit code %d, stdout %q, %q", k, r.ExitCode, r.Stdout, r.Message())
		}
	}
	printsOne(t, s)
}
