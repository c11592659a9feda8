package backendtest

import (
	"slices"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// execCases are about starting a program and how it ends.
func execCases() []conformanceCase {
	return []conformanceCase{
		{name: "exit codes", run: exitCodes},
		{name: "death by signal", run: signals},
		{name: "usage", needs: []Need{NeedPython, NeedKernel}, run: usage},
		{name: "environment is exactly Env", run: environment},
		{name: "working directory", run: workingDirectory},
		{name: "argument bytes", run: arguments},
		{name: "argument of 100 KB", run: longArgument},
		{name: "program looked up in PATH of Env", needs: []Need{NeedKernel}, run: lookUpInPath},
		{name: "missing program", run: missingProgram},
		{name: "program that is not executable", run: notExecutable},
		{name: "missing directory", run: missingDirectory},
		{name: "no arguments", run: noArguments},
		{name: "no terminal and no controlling terminal", needs: []Need{NeedPython, NeedKernel}, run: noTerminal},
		{name: "only the three standard descriptors", needs: []Need{NeedPython, NeedKernel}, run: descriptors},
		{name: "signals start out at their defaults", needs: []Need{NeedPython, NeedKernel}, run: signalDefaults},
	}
}

func exitCodes(c *check) {
	s := c.sandbox()
	for script, code := range map[string]int{"exit 0": 0, "exit 1": 1, "exit 3": 3, "exit 124": 124, "exit 255": 255} {
		c.expect(c.sh(s, script), code, "")
	}
}

func signals(c *check) {
	s := c.sandbox()
	for script, signal := range map[string]int{"kill -9 $$": 9, "kill -11 $$": 11, "kill -6 $$": 6, "kill -15 $$": 15} {
		r := c.sh(s, script)
		if r.Outcome != backend.Signaled || r.Signal != signal || r.Code != 128+signal {
			c.t.Errorf("%s: want signaled with code %d; got %v", script, 128+signal, r)
		}
	}
}

func usage(c *check) {
	r := c.succeed(c.py(c.sandbox(), `
import time, os
if os.fork() == 0:
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
    os._exit(0)
os.wait()
time.sleep(0.1)
`))
	if r.Usage.Wall < 300*time.Millisecond || r.Usage.Wall > r.took+10*time.Millisecond {
		c.t.Errorf("wall time %v of a command that took %v", r.Usage.Wall, r.took)
	}
	if r.Usage.CPU < 190*time.Millisecond || r.Usage.CPU > 3*time.Second {
		c.t.Errorf("cpu time %v; a child used 200 ms", r.Usage.CPU)
	}
}

func environment(c *check) {
	want := []string{"A=1", "EMPTY=", "PATH=/usr/bin:/bin", "TEXT=two words é"}
	r := c.succeed(c.run(c.sandbox(), backend.Command{Args: []string{"/usr/bin/env"}, Env: slices.Clone(want)}))
	got := lines(r.out)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.t.Errorf("environment is %q, want %q", got, want)
	}
}

func workingDirectory(c *check) {
	s := c.sandbox()
	c.expect(c.sh(s, "pwd"), 0, backend.DefaultWorkDir+"\n")
	cmd := shell("pwd")
	cmd.Dir = "/tmp"
	c.expect(c.run(s, cmd), 0, "/tmp\n")

	spec := c.spec
	spec.WorkDir = "/work"
	other := c.create(spec)
	c.expect(c.sh(other, "pwd; echo x > made; cat made"), 0, "/work\nx\n")
}

func arguments(c *check) {
	s := c.sandbox()
	for _, arg := range []string{"two words", "a'b\"c`d$HOME\\n", "line\nbreak", "héllo 世界 🎉", "*", "-", "--", "\x01\x7f", "\xff\xfe"} {
		c.expect(c.run(s, backend.Command{Args: []string{"/usr/bin/printf", "%s", arg}, Env: baseEnv()}), 0, arg)
	}
}

func longArgument(c *check) {
	arg := strings.Repeat("0123456789", 10_000)
	c.expect(c.run(c.sandbox(), backend.Command{Args: []string{"/usr/bin/printf", "%s", arg}, Env: baseEnv()}), 0, arg)
}

func lookUpInPath(c *check) {
	s := c.sandbox()
	c.copyIn(s, backend.DefaultWorkDir, file("bin/hello", "#!/bin/sh\necho from PATH\n", 0o755))
	c.expect(c.run(s, backend.Command{
		Args: []string{"hello"},
		Env:  []string{"PATH=/nowhere:" + backend.DefaultWorkDir + "/bin"},
	}), 0, "from PATH\n")
}

func missingProgram(c *check) {
	c.failsToStart(c.sandbox(), backend.Command{Args: []string{"/no/such-program"}, Env: baseEnv()}, "such-program")
	c.failsToStart(c.sandbox(), backend.Command{Args: []string{"such-program"}, Env: baseEnv()}, "such-program")
}

func notExecutable(c *check) {
	s := c.sandbox()
	c.copyIn(s, backend.DefaultWorkDir, file("plain.txt", "text", 0o644))
	c.failsToStart(s, backend.Command{Args: []string{backend.DefaultWorkDir + "/plain.txt"}, Env: baseEnv()}, "plain.txt")
}

func missingDirectory(c *check) {
	cmd := shell("true")
	cmd.Dir = "/no/such-directory"
	c.failsToStart(c.sandbox(), cmd, "such-directory")
}

func noArguments(c *check) {
	_, err := c.sandbox().Start(c.ctx, backend.Command{Env: baseEnv()})
	c.refused("start without arguments", err, backend.ErrInvalid)
}

// failsToStart fails the case unless Start or Wait returns an error with a kind that names the culprit.
func (c *check) failsToStart(s backend.Sandbox, cmd backend.Command, names string) {
	c.t.Helper()
	p, err := s.Start(c.ctx, cmd)
	if err == nil {
		_, err = p.Wait()
	}
	c.refused("start "+cmd.Args[0], err, backend.ErrNotFound, backend.ErrInvalid)
	if err != nil && !strings.Contains(err.Error(), names) {
		c.t.Errorf("error does not name %s: %v", names, err)
	}
}

func noTerminal(c *check) {
	r := c.py(c.sandbox(), `
import os
print([os.isatty(n) for n in (0, 1, 2)])
try:
    os.open("/dev/tty", os.O_RDWR)
    print("has a controlling terminal")
except OSError:
    print("none")
`)
	c.expect(r, 0, "[False, False, False]\nnone\n")
}

func descriptors(c *check) {
	r := c.py(c.sandbox(), `
import os
open_ones = []
for n in range(3, 1024):
    try:
        os.fstat(n)
        open_ones.append((n, os.readlink("/proc/self/fd/%d" % n)))
    except OSError:
        pass
print(open_ones)
`)
	c.expect(r, 0, "[]\n")
}

func signalDefaults(c *check) {
	r := c.py(c.sandbox(), `
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
# Python itself ignores SIGPIPE (13) and SIGXFSZ (25).
own = 1 << 12 | 1 << 24
print(int(status["SigBlk"], 16), int(status["SigIgn"], 16) & ~own)
`)
	c.expect(r, 0, "0 0\n")
}
