package cgroup_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail/cgroup"
)

// open makes a tree of its own for a test, and checks in the end that nothing of it is left.
func open(t *testing.T) (*cgroup.Manager, *cgroup.Tree) {
	t.Helper()
	m, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	owner, err := cgroup.Owner()
	if err != nil {
		t.Fatal(err)
	}
	owner += "-" + strings.NewReplacer("/", "_", ".", "_", "#", "_").Replace(t.Name())
	tree, err := m.Open(owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
		if left := leftovers(t, owner); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return m, tree
}

// leftovers finds the directories of an owner in all hierarchies.
func leftovers(t *testing.T, owner string) []string {
	t.Helper()
	out, err := exec.Command("find", "/sys/fs/cgroup", "-name", "llm-sandbox-mcp-"+owner+"*").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

func group(t *testing.T, tree *cgroup.Tree, limits backend.Limits) *cgroup.Group {
	t.Helper()
	g, err := tree.New("test", limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return g
}

// start starts a program inside g.
func start(t *testing.T, g *cgroup.Group, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	err := g.Start(func(fd int) (int, error) {
		if fd >= 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
		}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func needs(t *testing.T, has bool, what string) {
	t.Helper()
	if !has {
		t.Skipf("no %s controller here", what)
	}
}

func TestMemoryLimitKills(t *testing.T) {
	m, tree := open(t)
	needs(t, m.Controllers().Memory, "memory")
	g := group(t, tree, backend.Limits{Memory: 64 << 20})
	err := start(t, g, "/usr/bin/python3", "-c", "x = bytearray(256 << 20)").Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("got %v, want a SIGKILL", err)
	}
	events, err := g.Events()
	if err != nil || events.OOMKills != 1 || events.MemoryHits == 0 {
		t.Errorf("events %+v, %v; want one kill and some hits", events, err)
	}
	_, peak, err := g.Usage()
	if err != nil || peak < 48<<20 || peak > 64<<20 {
		t.Errorf("peak memory %d, %v; want nearly 64 MiB", peak, err)
	}
}

func TestProcessLimitRefuses(t *testing.T) {
	m, tree := open(t)
	needs(t, m.Controllers().Processes, "pids")
	g := group(t, tree, backend.Limits{Processes: 8})
	out := filepath.Join(t.TempDir(), "out")
	script := `
import os, sys
n = 0
try:
    while n < 100:
        if os.fork() == 0:
            os.read(0, 1)
            os._exit(0)
        n += 1
except BlockingIOError:
    open(sys.argv[1], "w").write(str(n))
`
	if err := start(t, g, "/usr/bin/python3", "-c", script, out).Wait(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil || string(text) != "7" {
		t.Errorf("it started %q processes, %v; want 7", text, err)
	}
	if events, err := g.Events(); err != nil || events.ProcessHits != 1 {
		t.Errorf("events %+v, %v; want one hit", events, err)
	}
}
