package cgroup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail/cgroup"
)

// open makes a tree of its own for a test, and checks in the end that nothing of it is left.
func open(t testing.TB) (*cgroup.Tree, cgroup.Controllers, string) {
	t.Helper()
	m, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	if m.Controllers().Version == "none" {
		t.Skip(m.Controllers().Why)
	}
	owner, err := cgroup.Owner()
	if err != nil {
		t.Fatal(err)
	}
	owner += "-" + t.Name()
	tree, err := m.Open(owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree, m.Controllers(), owner
}

// group makes a group that is closed in the end.
func group(t testing.TB, tree *cgroup.Tree, limits backend.Limits) *cgroup.Group {
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

// inside starts a program in g that is gone when the test ends.
func inside(t testing.TB, g *cgroup.Group, args ...string) *exec.Cmd {
	t.Helper()
	cmd, err := start(g, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
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
	tree, has, _ := open(t)
	needs(t, has.Memory, "memory")
	g := group(t, tree, backend.Limits{Memory: 64 << 20})
	if err := inside(t, g, self, childAllocate, "256").Wait(); !killed(err) {
		t.Errorf("got %v, want a SIGKILL", err)
	}
	events, err := g.Events()
	if err != nil || events.OOMKills != 1 || events.MemoryHits == 0 {
		t.Errorf("events %+v, %v; want one kill and some hits", events, err)
	}
	_, peak, err := g.Usage()
	if err != nil || peak < 48<<20 || peak > 65<<20 {
		t.Errorf("peak memory %d, %v; want nearly 64 MiB", peak, err)
	}
}

func TestMemoryWithinLimit(t *testing.T) {
	tree, has, _ := open(t)
	needs(t, has.Memory, "memory")
	g := group(t, tree, backend.Limits{Memory: 256 << 20})
	if err := inside(t, g, self, childAllocate, "64").Wait(); err != nil {
		t.Error(err)
	}
	if events, err := g.Events(); err != nil || events != (cgroup.Events{}) {
		t.Errorf("events %+v, %v; want none", events, err)
	}
}

func TestProcessLimitRefuses(t *testing.T) {
	tree, has, _ := open(t)
	needs(t, has.Processes, "pids")
	g := group(t, tree, backend.Limits{Processes: 8})
	// The shell gives up when it cannot fork.
	cmd := inside(t, g, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 100 & done; wait")
	if err := cmd.Wait(); err == nil {
		t.Error("the shell could start 9 processes")
	}
	if events, err := g.Events(); err != nil || events.ProcessHits == 0 {
		t.Errorf("events %+v, %v; want hits of the process limit", events, err)
	}
}

func TestCPULimitSlows(t *testing.T) {
	tree, has, _ := open(t)
	needs(t, has.CPU, "cpu")
	g := group(t, tree, backend.Limits{MilliCPUs: 200})
	begin := time.Now()
	if err := inside(t, g, self, childSpin, "1000").Wait(); err != nil {
		t.Fatal(err)
	}
	// A fifth of the time, and the quota of one period more at each end.
	most := time.Since(begin)/5 + 2*20*time.Millisecond
	if used, _, err := g.Usage(); err != nil || used < 50*time.Millisecond || used > most {
		t.Errorf("it used %v, %v; want at most %v", used, err, most)
	}
}

// A process that Start starts is in the group in every hierarchy that has one, from birth on, and the
// server is not.
func TestStartBearsInside(t *testing.T) {
	tree, _, owner := open(t)
	g := group(t, tree, backend.Limits{Memory: 64 << 20, Processes: 20, MilliCPUs: 500})
	before := groups(t, "/proc/thread-self/cgroup")
	cmd := exec.Command("cat", "/proc/self/cgroup")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(func(fd int) (int, error) {
		intoGroup(cmd, fd)
		err := cmd.Start()
		return cmd.Process.Pid, err
	}); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 16<<10)
	n, err := out.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(string(text[:n]), "/llm-sandbox-mcp-"+owner+"/test\n"), len(leftovers(t, owner)); got != want || got == 0 {
		t.Errorf("it was born in %d of %d groups:\n%s", got, want, text[:n])
	}
	if after := groups(t, "/proc/thread-self/cgroup"); after != before {
		t.Errorf("the server moved from\n%s to\n%s", before, after)
	}
}

func groups(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAddMoves(t *testing.T) {
	tree, _, owner := open(t)
	g := group(t, tree, backend.Limits{})
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	in := groups(t, fmt.Sprintf("/proc/%d/cgroup", cmd.Process.Pid))
	if strings.Count(in, owner) != len(leftovers(t, owner)) {
		t.Errorf("it is in\n%s", in)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStartPassesErrorsOn(t *testing.T) {
	tree, _, _ := open(t)
	g := group(t, tree, backend.Limits{})
	want := errors.New("did not start")
	if err := g.Start(func(int) (int, error) { return 0, want }); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

// Close kills processes that fork as fast as they can, ignore signals and have left their session.
func TestCloseKillsEverything(t *testing.T) {
	tree, has, owner := open(t)
	needs(t, has.Processes, "pids")
	g := group(t, tree, backend.Limits{Processes: 60, MilliCPUs: 1000})
	bomb := inside(t, g, "sh", "-c", `trap "" TERM HUP INT; setsid sleep 1000 & f() { while :; do (f) & sleep 0.01; done; }; f 2>/dev/null`)
	for events, err := g.Events(); events.ProcessHits == 0; events, err = g.Events() {
		if err != nil || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("closed after %v", time.Since(begin))
	_ = bomb.Wait()
	for _, dir := range leftovers(t, owner) {
		if strings.HasSuffix(dir, "/test") {
			t.Errorf("%s is left", dir)
		}
	}
	if err := g.Close(t.Context()); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// Close says what is left if its time is over. The thread that Start has moved into the group stands for
// a process that does not die.
func TestCloseIsBounded(t *testing.T) {
	tree, has, owner := open(t)
	if has.Version != "v1 and v2" {
		t.Skip("with v2 alone no thread moves, and the freezer of v1 would freeze it")
	}
	g := group(t, tree, backend.Limits{})
	err := g.Start(func(int) (int, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		return 0, g.Close(ctx)
	})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), owner) {
		t.Errorf("got %v, want the end of the time and the directory that is left", err)
	}
}

func TestNamesAreChecked(t *testing.T) {
	tree, _, owner := open(t)
	for _, id := range []string{"", ".", "..", "a/b", "cgroup.procs", "a b", "a\n", "ä", strings.Repeat("a", 300)} {
		if g, err := tree.New(id, backend.Limits{}); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("group %q: got %v, %v; want an invalid argument", id, g, err)
		}
	}
	m, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "1-2", "1-2-", "1-2-x", "../1-2-3", "1-2-3-a/b", "1-2-3\n"} {
		if _, err := m.Open(bad); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("owner %q: got %v, want an invalid argument", bad, err)
		}
		if err := cgroup.RemoveTree(t.Context(), bad); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("remove tree of %q: got %v, want an invalid argument", bad, err)
		}
	}
	if _, err := m.Open(owner); !errors.Is(err, os.ErrExist) {
		t.Errorf("second tree of the same name: got %v, want that it exists", err)
	}
	if left := leftovers(t, owner); len(left) == 0 {
		t.Error("the failed Open removed the tree of the first")
	}
}
