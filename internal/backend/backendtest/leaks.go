package backendtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// leakCases look for what is left of sandboxes on this machine.
func leakCases() []conformanceCase {
	return []conformanceCase{
		{name: "nothing is left after close", needs: []Need{NeedLocal, NeedKernel}, run: nothingLeft},
		{name: "descriptors and goroutines go back", run: nothingHeld},
	}
}

// footprint is what exists on this machine now that a sandbox may leave behind.
func footprint() map[string]bool {
	found := map[string]bool{}
	if data, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		for _, line := range lines(string(data)) {
			if fields := strings.Fields(line); len(fields) > 4 {
				found["mount "+fields[4]] = true
			}
		}
	}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			found["cgroup "+path] = true
		}
		return nil
	})
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/run", "/dev/shm", "/var/lib"} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			// Those of the go command and of other tests come and go.
			if !strings.HasPrefix(e.Name(), "go-") && !strings.HasPrefix(e.Name(), "Test") {
				found["file "+filepath.Join(dir, e.Name())] = true
			}
		}
	}
	return found
}

func nothingLeft(c *check) {
	warm := c.sandbox() // what the driver keeps for its own life is there before the count
	c.usable(warm)
	if err := warm.Close(c.ctx); err != nil {
		c.t.Fatalf("close: %v", err)
	}
	before := footprint()
	mark := marker()
	limits := backend.Limits{Memory: 128 * mib, Processes: 64, Disk: 32 * mib}
	for range 4 {
		s, err := c.backend.Create(c.ctx, c.with(limits))
		if err != nil {
			s = c.sandbox() // not with these limits, then
		}
		c.startUntil(c.ctx, s, shell("echo x > /tmp/f; echo x > /dev/shm/f; sleep "+mark+" & echo started; sleep "+mark))
		if err := s.Close(c.ctx); err != nil {
			c.t.Errorf("close: %v", err)
		}
	}
	if hasProcess(mark) {
		c.t.Error("a process is left right after close")
	}
	left := footprint()
	for name := range before {
		delete(left, name)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 100 { // other servers on this machine make and remove things too
		now := footprint()
		for name := range left {
			if !now[name] {
				delete(left, name)
			}
		}
		if len(left) == 0 {
			return
		}
		<-tick.C
	}
	for name := range left {
		c.t.Errorf("left behind: %s", name)
	}
}

func nothingHeld(c *check) {
	round := func() {
		for range 3 {
			s := c.sandbox()
			c.sh(s, "echo x")
			if err := s.Close(c.ctx); err != nil {
				c.t.Errorf("close: %v", err)
			}
		}
	}
	round()
	files, routines := held()
	round()
	c.eventually("no more descriptors and goroutines than before", func() bool {
		nowFiles, nowRoutines := held()
		return nowFiles <= files && nowRoutines <= routines
	})
	if nowFiles, nowRoutines := held(); nowFiles > files || nowRoutines > routines {
		c.t.Errorf("descriptors from %d to %d, goroutines from %d to %d", files, nowFiles, routines, nowRoutines)
	}
}

func held() (files, routines int) {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries), runtime.NumGoroutine()
}
