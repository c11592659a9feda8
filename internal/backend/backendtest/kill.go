package backendtest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// killCases are about ending a program and everything it started.
func killCases() []conformanceCase {
	return []conformanceCase{
		{name: "timeout", run: timeout},
		{name: "timeout keeps what was written", run: timeoutKeepsOutput},
		{name: "timeout of a program that ignores signals", needs: []Need{NeedPython, NeedKernel}, run: timeoutIgnored},
		{name: "timeout kills grandchildren", needs: []Need{NeedPython, NeedKernel}, run: timeoutGrandchildren},
		{name: "timeout of a stopped program", needs: []Need{NeedKernel}, run: timeoutStopped},
		{name: "program just within its timeout", run: withinTimeout},
		{name: "daemons die with the program", needs: []Need{NeedPython, NeedKernel}, run: daemons},
		{name: "background child holding stdout", needs: []Need{NeedKernel}, run: holdsStdout},
		{name: "zombies are reaped", needs: []Need{NeedPython, NeedKernel}, run: zombies},
		{name: "cancel", run: cancelled},
		{name: "cancel kills grandchildren", needs: []Need{NeedPython, NeedKernel}, run: cancelGrandchildren},
		{name: "cancel while output is not read", run: cancelBlockedOutput},
		{name: "context already done", run: alreadyDone},
		{name: "other programs survive the end of one", needs: []Need{NeedKernel}, run: othersSurvive},
		{name: "kill of pid 1 and of everything", needs: []Need{NeedPython, NeedKernel}, run: killEverything},
	}
}

// A marker is a number of seconds to sleep that no other process on the machine has among its arguments.
func marker() string { return strconv.FormatInt(1_000_000_000+rand.Int64N(1_000_000_000), 10) }

// hasProcess reports whether a process of this machine has the marker as an argument.
func hasProcess(marker string) bool {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), marker) {
			return true
		}
	}
	return false
}

// eventually waits up to a second for a condition.
func (c *check) eventually(what string, holds func() bool) {
	c.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 100 {
		if holds() {
			return
		}
		<-tick.C
	}
	c.t.Errorf("a second later, still not: %s", what)
}

// gone fails the case if, a second later, a process with the marker is alive: in the sandbox, or, if
// that is on this machine, anywhere.
func (c *check) gone(s backend.Sandbox, marker string) {
	c.t.Helper()
	c.eventually("every process with "+marker+" gone from this machine", func() bool { return !hasProcess(marker) })
	r := c.sh(s, `for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' < $f 2>/dev/null; echo; done`)
	// The shell that looks does not have the marker among its own arguments.
	if strings.Contains(r.out, marker) {
		c.t.Errorf("a process with %s is alive in the sandbox: %v", marker, r)
	}
}

func timedOut(c *check, r result, bound time.Duration) {
	c.t.Helper()
	if r.Outcome != backend.TimedOut || r.Code != backend.CodeTimedOut {
		c.t.Errorf("want timeout, code %d; got %v", backend.CodeTimedOut, r)
	}
	if r.took > bound {
		c.t.Errorf("took %v, want less than %v", r.took, bound)
	}
}

func timeout(c *check) {
	s := c.sandbox()
	cmd := backend.Command{Args: []string{"sleep", "30"}, Env: baseEnv(), Timeout: 300 * time.Millisecond}
	r := c.run(s, cmd)
	timedOut(c, r, 1300*time.Millisecond)
	if r.took < 300*time.Millisecond {
		c.t.Errorf("ended after %v, before its timeout", r.took)
	}
	c.expect(c.sh(s, "echo next"), 0, "next\n")
}

func timeoutKeepsOutput(c *check) {
	cmd := shell("echo before; echo oops >&2; sleep 30; echo after")
	cmd.Timeout = 500 * time.Millisecond
	r := c.run(c.sandbox(), cmd)
	timedOut(c, r, 2*time.Second)
	if r.out != "before\n" || r.err != "oops\n" {
		c.t.Errorf("got %v", r)
	}
}

func timeoutIgnored(c *check) {
	cmd := c.pyCommand(`
import signal, time
for n in range(1, 65):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
print("ignoring", flush=True)
while True: time.sleep(1)
`)
	cmd.Timeout = 700 * time.Millisecond
	r := c.run(c.sandbox(), cmd)
	timedOut(c, r, 2*time.Second)
	if r.out != "ignoring\n" {
		c.t.Errorf("got %v", r)
	}
}

// tree starts a child, a grandchild, and a grandchild in a session of its own, which all sleep.
const tree = `
import os, subprocess, sys
def sleep(): os.execvp("sleep", ["sleep", sys.argv[1]])
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: sleep()
        sleep()
    sleep()
print("started", flush=True)
`

func timeoutGrandchildren(c *check) {
	s, mark := c.sandbox(), marker()
	cmd := c.pyCommand(tree+"os.wait()", mark)
	cmd.Timeout = time.Second
	r := c.run(s, cmd)
	timedOut(c, r, 2*time.Second)
	if r.out != "started\n" {
		c.t.Errorf("got %v", r)
	}
	c.gone(s, mark)
}

func timeoutStopped(c *check) {
	cmd := shell("kill -STOP $$")
	cmd.Timeout = 300 * time.Millisecond
	timedOut(c, c.run(c.sandbox(), cmd), 1300*time.Millisecond)
}

func withinTimeout(c *check) {
	cmd := shell("sleep 0.2; echo done")
	cmd.Timeout = 10 * time.Second
	c.expect(c.run(c.sandbox(), cmd), 0, "done\n")
}

func daemons(c *check) {
	s, mark := c.sandbox(), marker()
	r := c.py(s, tree, mark)
	c.expect(r, 0, "started\n")
	if r.took > 5*time.Second {
		c.t.Errorf("took %v", r.took)
	}
	if c.gone(s, mark); hasProcess(mark) {
		c.t.Error("a daemon outlived Wait")
	}
}

func holdsStdout(c *check) {
	s, mark := c.sandbox(), marker()
	r := c.sh(s, "sleep "+mark+" & echo done")
	c.expect(r, 0, "done\n")
	if r.took > 5*time.Second {
		c.t.Errorf("took %v", r.took)
	}
	c.gone(s, mark)
}

func zombies(c *check) {
	r := c.py(c.sandbox(), `
import os, time
for _ in range(50):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
def count():
    n = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open("/proc/%s/stat" % pid).read().rsplit(")", 1)[1].split()[0] == "Z": n += 1
        except OSError: pass
    return n
for _ in range(100):
    n = count()
    if n == 0: break
    time.sleep(0.02)
print(n)
`)
	c.expect(r, 0, "0\n")
}

func wasCancelled(c *check, r result, since time.Time) {
	c.t.Helper()
	if r.Outcome != backend.Cancelled || r.Code == 0 {
		c.t.Errorf("want cancelled and a code; got %v", r)
	}
	if d := time.Since(since); d > time.Second {
		c.t.Errorf("ended %v after the cancel", d)
	}
}

// startUntil starts a command and waits until it has written "started".
func (c *check) startUntil(ctx context.Context, s backend.Sandbox, cmd backend.Command) running {
	c.t.Helper()
	heard, fromProgram := io.Pipe()
	cmd.Stdout = fromProgram
	r := c.start(ctx, s, cmd)
	soon, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	defer context.AfterFunc(soon, func() { _ = heard.CloseWithError(soon.Err()) })()
	line := make([]byte, len("started\n"))
	if _, err := io.ReadFull(heard, line); err != nil || string(line) != "started\n" {
		c.t.Fatalf("program wrote %q, %v, stderr %q", line, err, r.err)
	}
	go func() { _, _ = io.Copy(io.Discard, heard) }()
	return r
}

func cancelled(c *check) {
	s := c.sandbox()
	ctx, cancel := context.WithCancel(c.ctx)
	r := c.startUntil(ctx, s, shell("echo started; sleep 30"))
	began := time.Now()
	cancel()
	wasCancelled(c, c.wait(r), began)
	c.expect(c.sh(s, "echo next"), 0, "next\n")
}

func cancelGrandchildren(c *check) {
	s, mark := c.sandbox(), marker()
	ctx, cancel := context.WithCancel(c.ctx)
	r := c.startUntil(ctx, s, c.pyCommand(tree+"os.wait()", mark))
	began := time.Now()
	cancel()
	wasCancelled(c, c.wait(r), began)
	c.gone(s, mark)
}

// cancelBlockedOutput has a client that stops reading; the program fills every buffer on the way.
func cancelBlockedOutput(c *check) {
	s := c.sandbox()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	heard, fromProgram := io.Pipe()
	r := c.start(ctx, s, backend.Command{Args: []string{"seq", "1", "9999999"}, Env: baseEnv(), Stdout: fromProgram})
	if _, err := io.ReadFull(heard, make([]byte, 10)); err != nil {
		c.t.Fatalf("read: %v", err)
	}
	began := time.Now()
	cancel()
	// The writer that the caller passed may block for ever: only the program must be gone at once.
	context.AfterFunc(ctx, func() { _ = heard.Close() })
	wasCancelled(c, c.wait(r), began)
}

func alreadyDone(c *check) {
	s := c.sandbox()
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	p, err := s.Start(ctx, shell("echo ran > ran"))
	if err == nil {
		var exit backend.Exit
		if exit, err = p.Wait(); err == nil && exit.Outcome != backend.Cancelled {
			c.t.Errorf("start with a done context: got %+v", exit)
		}
	}
	if other, err := c.backend.Create(ctx, c.spec); err == nil {
		c.t.Error("create with a done context made a sandbox")
		_ = other.Close(c.ctx)
	}
	if _, err := s.CopyOut(ctx, backend.Selection{Dir: "/tmp"}); err == nil {
		c.t.Error("copy out with a done context did not fail")
	}
	c.expect(c.sh(s, "echo next"), 0, "next\n")
}

func othersSurvive(c *check) {
	s := c.sandbox()
	other := c.startUntil(c.ctx, s, shell("echo started; sleep 1; exit 7"))
	cmd := shell("sleep 30")
	cmd.Timeout = 200 * time.Millisecond
	timedOut(c, c.run(s, cmd), 1200*time.Millisecond)
	c.expect(c.sh(s, "sleep 30 & exit 3"), 3, "")
	if r := c.wait(other); r.Outcome != backend.Exited || r.Code != 7 {
		c.t.Errorf("the other program: got %v", r)
	}
}

// killEverything sends every signal to everything the program can reach. What it must not reach is the
// supervisor; it may well reach itself.
func killEverything(c *check) {
	s := c.sandbox()
	r := c.py(s, `
import os, signal
for n in list(range(1, 32)):
    if n in (signal.SIGSTOP, signal.SIGKILL): continue
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
for n in [*range(1, 65)]:
    try: os.kill(1, n)
    except OSError: pass
for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT):
    try: os.kill(-1, n)
    except OSError: pass
print("alive", flush=True)
os.kill(-1, signal.SIGKILL)
`)
	if !strings.HasPrefix(r.out, "alive\n") {
		c.t.Errorf("got %v", r)
	}
	c.expect(c.sh(s, "echo next"), 0, "next\n")
	c.expect(c.sh(s, fmt.Sprintf("cd %s; pwd", backend.DefaultWorkDir)), 0, backend.DefaultWorkDir+"\n")
}
