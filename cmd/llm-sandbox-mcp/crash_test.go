//go:build linux

package main_test

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

var crashes = flag.Int("crashes", 20, "how often TestCrash kills the server")

// busy are programs that are hard to clean up after. The verb is the odd number of seconds to sleep.
var busy = []string{`
import subprocess
subprocess.run(["setsid", "sleep", "%s"])
`, `
import os
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: os.execvp("sleep", ["sleep", "%s"])
        os._exit(0)
while True: pass
`, `
import signal, subprocess
for n in (1, 2, 13, 15): signal.signal(n, signal.SIG_IGN)
keep = [bytearray(1 << 20) for _ in range(40)]
children = [subprocess.Popen(["sleep", "%s"]) for _ in range(5)]
for n in range(1000000): open("f%%d" %% (n %% 500), "w").write("x" * 10000)
`, `
import sys, subprocess
subprocess.Popen(["sleep", "%s"], stdout=subprocess.DEVNULL)
while True: print("x" * 1000)
`}

// TestCrash kills the server with SIGKILL at random moments under load, -crashes times. Within five
// seconds nothing of it may be left, and the next server must work. It is not parallel, because it
// adopts every orphan on the way, so that no process can leave its sight.
func TestCrash(t *testing.T) {
	adoptOrphans(t)
	programs := 0
	for n := range *crashes {
		after := time.Duration(rand.Int64N(int64(1200 * time.Millisecond)))
		if !crash(t, after, func(s *mcptest.Server) {
			programs += len(descendants(s.PID()))
			_ = s.Signal(syscall.SIGKILL)
		}) {
			t.Fatalf("at crash %d of %d, %v after the calls", n+1, *crashes, after)
		}
	}
	t.Logf("crashes: %d, with %d processes running on average, nothing left", *crashes, programs/max(*crashes, 1))
}

// TestCrashVariants ends the server in other ways, under the same load and with the same demands.
func TestCrashVariants(t *testing.T) {
	adoptOrphans(t)
	for name, end := range map[string]func(*mcptest.Server){
		"SIGTERM":      func(s *mcptest.Server) { _ = s.Signal(syscall.SIGTERM) },
		"EOF":          func(s *mcptest.Server) { _ = s.CloseInput() },
		"client gone":  func(s *mcptest.Server) { _, _ = s.CloseInput(), s.CloseOutput() },
		"SIGABRT":      func(s *mcptest.Server) { _ = s.Signal(syscall.SIGABRT) },
		"stopped":      func(s *mcptest.Server) { _, _ = s.Signal(syscall.SIGSTOP), s.Signal(syscall.SIGKILL) },
		"out of order": func(s *mcptest.Server) { _, _ = s.Signal(syscall.SIGTERM), s.Signal(syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // see TestCrash
			crash(t, 600*time.Millisecond, end)
		})
	}
}

// crash starts a server that must work, puts load on it, ends it, and reports whether nothing is left.
func crash(t *testing.T, after time.Duration, end func(*mcptest.Server)) bool {
	t.Helper()
	mounts := mountPoints(t)
	o := serverOptions(t)
	s := mcptest.Start(t, o)
	s.Initialize(t)
	printsOne(t, s)
	mark := oddSeconds()
	for k := range 6 {
		code := fmt.Sprintf(busy[k%len(busy)], mark)
		if _, err := s.SendCall("execute_code", map[string]any{"code": code, "timeout": 600}); err != nil {
			t.Fatal(err)
		}
	}
	timer := time.NewTimer(after)
	<-timer.C
	end(s)
	if err := s.WaitExit(10 * time.Second); err != nil {
		t.Error(err)
		return false
	}
	var left []string
	if eventually(5*time.Second, func() bool {
		left = leftovers(t, s.PID(), mark, temporary(o), mounts)
		return len(left) == 0
	}) {
		return true
	}
	t.Errorf("five seconds later there are: %s", strings.Join(left, "\n"))
	return false
}

// leftovers lists what there is of a server that has ended.
func leftovers(t *testing.T, server int, mark, tmp string, mounts []string) []string {
	t.Helper()
	reapOrphans()
	left := commandLines(descendants(os.Getpid()))
	if someoneHasArgument(mark) {
		left = append(left, "a process that sleeps "+mark)
	}
	for _, name := range filesIn(tmp) {
		left = append(left, "file "+filepath.Join(tmp, name))
	}
	for _, point := range mountPoints(t) {
		if !slices.Contains(mounts, point) {
			left = append(left, "mount "+point)
		}
	}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "llm-sandbox-mcp-"+strconv.Itoa(server)+"-") {
			left = append(left, "control group "+path)
		}
		return nil
	})
	return left
}

func mountPoints(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var points []string
	for line := range strings.Lines(string(data)) {
		points = append(points, strings.Fields(line)[4])
	}
	return points
}

// adoptOrphans makes this process the parent of all orphans below it until the test ends.
func adoptOrphans(t *testing.T) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatalf("become a subreaper: %v", err)
	}
	t.Cleanup(func() {
		reapOrphans()
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); err != nil {
			t.Errorf("stop being a subreaper: %v", err)
		}
	})
}

// reapOrphans waits for every child that has ended. Servers were waited for before.
func reapOrphans() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}
