package backendtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// lifecycleCases are about sandboxes as a whole.
func lifecycleCases() []conformanceCase {
	return []conformanceCase{
		{name: "close while a program runs", run: closeWhileRunning},
		{name: "close twice and concurrently", run: closeTwice},
		{name: "use after close", run: useAfterClose},
		{name: "close with a done context", run: closeDoneContext},
		{name: "two programs at once in one sandbox", run: twoAtOnce},
		{name: "files pass from one program to the next", run: filesPass},
		{name: "16 sandboxes at once", run: manySandboxes},
		{name: "sandboxes do not see each other", needs: []Need{NeedPython, NeedKernel}, run: strangers},
		{name: "IDs are unique", run: uniqueIDs},
		{name: "create is cancelled", run: createCancelled},
	}
}

func closeWhileRunning(c *check) {
	s := c.sandbox()
	mark := marker()
	r := c.startUntil(c.ctx, s, shell("echo started; sleep "+mark))
	began := time.Now()
	if err := s.Close(c.ctx); err != nil {
		c.t.Errorf("close: %v", err)
	}
	if hasProcess(mark) {
		c.t.Error("the program outlived Close")
	}
	if exit, err := r.process.Wait(); err == nil && exit.Outcome == backend.Exited {
		c.t.Errorf("wait says that the program exited: %+v", exit)
	}
	if d := time.Since(began); d > 10*time.Second {
		c.t.Errorf("close and wait took %v", d)
	}
}

func closeTwice(c *check) {
	s := c.sandbox()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := s.Close(c.ctx); err != nil {
				c.t.Errorf("close: %v", err)
			}
		})
	}
	group.Wait()
	if err := s.Close(c.ctx); err != nil {
		c.t.Errorf("close again: %v", err)
	}
}

func useAfterClose(c *check) {
	s := c.sandbox()
	if err := s.Close(c.ctx); err != nil {
		c.t.Fatalf("close: %v", err)
	}
	_, err := s.Start(c.ctx, shell("true"))
	c.refused("start", err, backend.ErrNotFound)
	c.refused("copy in", s.CopyIn(c.ctx, "/tmp", archive(c.t, file("a", "b", 0o644))), backend.ErrNotFound)
	_, err = s.CopyOut(c.ctx, backend.Selection{Dir: "/tmp"})
	c.refused("copy out", err, backend.ErrNotFound)
}

// closeDoneContext is what a caller whose request was cancelled does.
func closeDoneContext(c *check) {
	s, mark := c.sandbox(), marker()
	c.startUntil(c.ctx, s, shell("echo started; sleep "+mark))
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	_ = s.Close(ctx) // may say that it did not wait
	c.eventually("the program gone", func() bool { return !hasProcess(mark) })
	if err := s.Close(c.ctx); err != nil {
		c.t.Errorf("close again: %v", err)
	}
}

func twoAtOnce(c *check) {
	s := c.sandbox()
	first := c.startUntil(c.ctx, s, shell("echo started; sleep 0.5; exit 4"))
	c.expect(c.sh(s, "echo second"), 0, "second\n")
	if r := c.wait(first); r.Code != 4 {
		c.t.Errorf("the first: got %v", r)
	}
}

func filesPass(c *check) {
	s := c.sandbox()
	for _, dir := range []string{backend.DefaultWorkDir, backend.HomeDir, "/tmp", backend.ArtifactDir} {
		c.expect(c.sh(s, "cd "+dir+"; echo text > left"), 0, "")
		c.expect(c.sh(s, "cat "+dir+"/left"), 0, "text\n")
	}
}

func manySandboxes(c *check) {
	var group sync.WaitGroup
	for n := range 16 {
		group.Go(func() {
			s, err := c.backend.Create(c.ctx, c.spec)
			if err != nil {
				c.t.Errorf("create %d: %v", n, err)
				return
			}
			var out strings.Builder
			script := fmt.Sprintf("echo %d > mine; sleep 0.2; cat mine", n)
			cmd := shell(script)
			cmd.Stdout = &out
			p, err := s.Start(c.ctx, cmd)
			if err != nil {
				c.t.Errorf("start %d: %v", n, err)
			} else if exit, err := p.Wait(); err != nil || exit.Code != 0 || out.String() != fmt.Sprintf("%d\n", n) {
				c.t.Errorf("%d: got %q, %+v, %v", n, out.String(), exit, err)
			}
			if err := s.Close(c.ctx); err != nil {
				c.t.Errorf("close %d: %v", n, err)
			}
		})
	}
	group.Wait()
}

func strangers(c *check) {
	first, second := c.sandbox(), c.sandbox()
	mark := marker()
	c.startUntil(c.ctx, first, shell(`
for d in /tmp /dev/shm `+backend.HomeDir+` `+backend.DefaultWorkDir+`; do echo secret > $d/`+mark+`; done
echo started; sleep 60`))
	r := c.succeed(c.py(second, `
import os, sys
for top in ("/tmp", "/dev/shm", "/home", "/sandbox", "/run", "/var"):
    for path, dirs, files in os.walk(top):
        for name in dirs + files:
            if name == sys.argv[1]: print("file", path, name)
for pid in filter(str.isdigit, os.listdir("/proc")):
    try: line = open("/proc/%s/cmdline" % pid).read()
    except OSError: continue
    if sys.argv[1] in line and int(pid) != os.getpid(): print("process", pid, line)
`, mark))
	if r.out != "" {
		c.t.Errorf("the second sandbox sees of the first: %v", r)
	}
}

func uniqueIDs(c *check) {
	seen := map[string]bool{}
	for range 8 {
		id := c.sandbox().ID()
		if id == "" || seen[id] {
			c.t.Errorf("ID %q is empty or was given before", id)
		}
		seen[id] = true
	}
}

func createCancelled(c *check) {
	for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(c.ctx, after)
		s, err := c.backend.Create(ctx, c.spec)
		if err == nil {
			// It was faster: the sandbox must not depend on the context it was made with.
			<-ctx.Done()
			c.expect(c.sh(s, "echo alive"), 0, "alive\n")
			err = s.Close(c.ctx)
		} else if ctx.Err() == nil {
			c.t.Errorf("create: %v", err)
		}
		cancel()
		if err != nil && ctx.Err() == nil {
			c.t.Errorf("after %v: %v", after, err)
		}
	}
}
