package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// oddSeconds is a number to sleep that no other process on the machine has among its arguments.
func oddSeconds() string { return strconv.FormatInt(1_000_000_000+rand.Int64N(1_000_000_000), 10) }

// startSleeping starts a call whose children sleep, and waits until they do.
func startSleeping(t *testing.T, s *mcptest.Server) (*mcptest.Request, string) {
	t.Helper()
	mark := oddSeconds()
	r, err := s.SendCall("execute_code", map[string]any{"timeout": 600, "code": fmt.Sprintf(`
import subprocess
open("marker", "w").write("x" * 1000)
children = [subprocess.Popen(["sleep", "%[1]s"]), subprocess.Popen(["setsid", "sleep", "%[1]s"])]
subprocess.run(["sh", "-c", "sleep %[1]s & sleep %[1]s"])
`, mark)})
	if err != nil {
		t.Fatal(err)
	}
	if !eventually(20*time.Second, func() bool { return someoneHasArgument(mark) }) {
		t.Fatalf("the call does not run; stderr of the server: %s", s.Stderr())
	}
	return r, mark
}

// goneWithin fails the test unless the sleeping children and the files of the server go.
func goneWithin(t *testing.T, d time.Duration, mark, tmp string) {
	t.Helper()
	if !eventually(d, func() bool { return !someoneHasArgument(mark) }) {
		t.Errorf("sleep %s runs %v later", mark, d)
	}
	if tmp == "" {
		return
	}
	var left []string
	if !eventually(d, func() bool { left = filesIn(tmp); return len(left) == 0 }) {
		t.Errorf("temporary files %v later: %q", d, left)
	}
}

func filesIn(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// temporary returns the TMPDIR among the options.
func temporary(o mcptest.Options) string {
	for _, pair := range o.Env {
		if dir, ok := strings.CutPrefix(pair, "TMPDIR="); ok {
			return dir
		}
	}
	return ""
}

// openai/codex#20925, anomalyco/opencode#24312: the cancelled program runs on.
func TestLIFE01Cancel(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	r, mark := startSleeping(t, s)
	if err := s.Notify("notifications/cancelled", map[string]any{"requestId": json.RawMessage(r.ID), "reason": "test"}); err != nil {
		t.Fatal(err)
	}
	goneWithin(t, time.Second, mark, "")
	printsOne(t, s)
	if m, err := r.Wait(100 * time.Millisecond); err == nil {
		t.Errorf("the cancelled call was answered: %+v", m)
	}
}

func TestLIFE03CancelOfUnknownCalls(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	printsOne(t, s)
	for _, id := range []any{999, 1, 2, "none", nil} {
		if err := s.Notify("notifications/cancelled", map[string]any{"requestId": id}); err != nil {
			t.Fatal(err)
		}
	}
	printsOne(t, s)
	if others := s.Others(); len(others) > 0 {
		t.Errorf("the server answered: %+v", others)
	}
}

// modelcontextprotocol/typescript-sdk#2002, github/github-mcp-server#2323: servers outlive their client.
func TestLIFE04EOFDuringACall(t *testing.T) {
	t.Parallel()
	o := serverOptions(t)
	s := mcptest.Start(t, o)
	s.Initialize(t)
	_, mark := startSleeping(t, s)
	if err := s.CloseInput(); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitExit(10 * time.Second); err != nil {
		t.Error(err)
	}
	goneWithin(t, time.Second, mark, temporary(o))
}

// ProxymanApp/Proxyman#2727, cloudflare/mcp-server-cloudflare#487: idle servers spin after EOF.
func TestLIFE05EOFWhileIdle(t *testing.T) {
	t.Parallel()
	for _, initialize := range []bool{false, true} {
		s := mcptest.Start(t, serverOptions(t))
		if initialize {
			s.Initialize(t)
		}
		if err := s.CloseInput(); err != nil {
			t.Fatal(err)
		}
		if err := s.WaitExit(2 * time.Second); err != nil {
			t.Error(err)
		} else if s.ExitCode() != 0 {
			t.Errorf("exit code %d, stderr %s", s.ExitCode(), s.Stderr())
		}
	}
}

// Troubladore/mcp-atlassian#207, DollhouseMCP/mcp-server#1711: signals leave processes behind.
func TestLIFE06Signals(t *testing.T) {
	t.Parallel()
	for _, signals := range [][]syscall.Signal{
		{syscall.SIGTERM}, {syscall.SIGINT}, {syscall.SIGTERM, syscall.SIGTERM}, {syscall.SIGINT, syscall.SIGTERM}, {syscall.SIGHUP},
	} {
		o := serverOptions(t)
		s := mcptest.Start(t, o)
		s.Initialize(t)
		_, mark := startSleeping(t, s)
		for _, signal := range signals {
			_ = s.Signal(signal) // the second may come too late
		}
		if err := s.WaitExit(10 * time.Second); err != nil {
			t.Errorf("%v: %v", signals, err)
		}
		goneWithin(t, time.Second, mark, temporary(o))
	}
}

// omnigent-ai/omnigent#2812: the reader of the server's output goes away.
func TestLIFE08OutputClosed(t *testing.T) {
	t.Parallel()
	o := serverOptions(t)
	s := mcptest.Start(t, o)
	s.Initialize(t)
	_, mark := startSleeping(t, s)
	if err := s.CloseOutput(); err != nil {
		t.Fatal(err)
	}
	_, _ = s.Send("ping", nil) // makes the server write
	if err := s.WaitExit(10 * time.Second); err != nil {
		t.Error(err)
	}
	goneWithin(t, time.Second, mark, temporary(o))
}

// vndee/llm-sandbox#161 and #168: state of one call shows in the next.
func TestLIFE10NoStateLeaks(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	r := execute(t, s, "python", `
import os, site
for dir in ["/tmp", "/dev/shm", os.path.expanduser("~"), os.getcwd(), *site.getsitepackages(), site.getusersitepackages()]:
    try:
        os.makedirs(dir, exist_ok=True)
        open(os.path.join(dir, "leak.py"), "w").write("leaked = True")
        print("wrote", dir)
    except OSError: pass
`, time.Minute)
	if !strings.Contains(r.Stdout, "wrote /tmp\n") {
		t.Fatalf("the first call: %q, %q", r.Stdout, r.Stderr)
	}
	r = execute(t, s, "python", `
import os
try:
    import leak
    print("imports", leak.__file__)
except ImportError: pass
for dir in ("/tmp", "/dev/shm", os.path.expanduser("~"), os.getcwd()):
    if os.path.exists(os.path.join(dir, "leak.py")): print("sees", dir)
`, time.Minute)
	if r.ExitCode != 0 || r.Stdout != "" {
		t.Errorf("the second call: %q, %q", r.Stdout, r.Stderr)
	}
	for _, path := range []string{"/tmp/leak.py", "/dev/shm/leak.py"} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is on the host", filepath.Clean(path))
		}
	}
}
