package main_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// TestCases makes the call of every failure case for the native backend and prints how many passed.
func TestCases(t *testing.T) {
	t.Parallel()
	runCases(t, readCases(t, "native"), startServer)
}

// runCases gives each case a server of its own. What is optional may be missing, also where it is
// required of other tests.
func runCases(t *testing.T, cases []failureCase, start starter, optional ...string) {
	t.Helper()
	needs := &needs{start: start, found: map[string]error{}}
	places := make(chan struct{}, 4)
	var mu sync.Mutex
	count := map[string]int{}
	skips := map[string]int{}
	t.Run("all", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.id, func(t *testing.T) {
				t.Parallel()
				places <- struct{}{}
				defer func() {
					<-places
					mu.Lock()
					defer mu.Unlock()
					switch {
					case t.Failed():
						count["failed"]++
					case t.Skipped():
						count["skipped"]++
					default:
						count["passed"]++
					}
				}()
				for _, need := range c.Needs {
					why := needs.missing(t, need)
					if why == "" {
						continue
					}
					mu.Lock()
					skips[need+": "+why]++
					mu.Unlock()
					if slices.Contains(optional, need) {
						t.Skipf("needs %s: %s", need, why)
					}
					missing(t, need, "needs %s: %s", need, why)
				}
				c.run(t, start)
			})
		}
	})
	t.Logf("cases: %d run, %d passed, %d failed, %d skipped",
		len(cases)-count["skipped"], count["passed"], count["failed"], count["skipped"])
	for _, why := range slices.Sorted(maps.Keys(skips)) {
		t.Logf("cases: skipped %d, need %s", skips[why], why)
	}
}

func (c failureCase) run(t *testing.T, start starter) {
	t.Helper()
	t.Log(c.title)
	if language, _ := c.Arguments["language"].(string); strings.HasPrefix(language, "go") {
		compileGoOnce(t)
	}
	s := start(t, c.environ()...)
	before := 0
	if c.Expect.Leftovers != nil {
		printsOne(t, s) // what the server keeps for its own life is there from now on
		before = len(descendants(s.PID()))
	}
	r, err := s.Call(c.Tool, c.Arguments, 150*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range c.Expect.check(r) {
		t.Error(wrong)
	}
	if c.ExpectAny != nil {
		var all []string
		holds := false
		for _, e := range c.ExpectAny {
			wrong := e.check(r)
			holds = holds || len(wrong) == 0
			all = append(all, strings.Join(wrong, ", "))
		}
		if !holds {
			t.Errorf("none of the alternatives holds:\n%s", strings.Join(all, "\n"))
		}
	}
	if t.Failed() {
		t.Logf("isError %v, blocks %v, text %.2000s", r.IsError, r.Blocks, r.Text)
	}
	if c.Expect.Leftovers != nil {
		c.leavesNothing(t, s, before)
	}
	if c.Expect.Answers {
		if _, err := s.Call("execute_code", map[string]any{"code": "print(1)"}, time.Minute); err != nil {
			t.Error(err)
		}
	}
	if c.Expect.ServerAlive {
		printsOne(t, s)
	}
	for _, line := range s.Strays() {
		t.Errorf("not a message on stdout: %.200q", line)
	}
}

var goCompiled sync.Once

// compileGoOnce has the server compile Go's standard library. The cases take it for granted, but for
// [TestGO08ColdBuildCache], which is about just that.
func compileGoOnce(t *testing.T) {
	t.Helper()
	goCompiled.Do(func() {
		r, err := startServer(t).Call("execute_code",
			map[string]any{"language": "go", "code": "package main\n\nfunc main() {}\n"}, 5*time.Minute)
		t.Logf("the first Go program took %v: exit code %d, %v", r.Took, r.ExitCode, err)
	})
}

// leavesNothing waits up to ten seconds until the server has no more descendants than before the call,
// and no process sleeps the odd number of seconds that the code does.
func (c failureCase) leavesNothing(t *testing.T, s *mcptest.Server, before int) {
	t.Helper()
	marker := regexp.MustCompile(`\b7\d{3}\b`).FindString(c.Code)
	holds := func() bool {
		return len(descendants(s.PID())) <= before && (marker == "" || !someoneHasArgument(marker))
	}
	if !eventually(10*time.Second, holds) {
		t.Errorf("ten seconds later: descendants %q, was %d; sleep %s: %v",
			commandLines(descendants(s.PID())), before, marker, marker != "" && someoneHasArgument(marker))
	}
}

// eventually waits for a condition that nobody announces.
func eventually(bound time.Duration, holds func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(bound); ; <-tick.C {
		if holds() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// descendants are the processes below one, zombies apart.
func descendants(pid int) []int {
	children := map[int][]int{}
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// PID (NAME) STATE PPID; the name may hold anything.
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		parent, err := strconv.Atoi(fields[1])
		if err == nil && fields[0] != "Z" {
			children[parent] = append(children[parent], child)
		}
	}
	var all []int
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		all = append(all, queue[0])
		queue = append(queue, children[queue[0]]...)
	}
	return all
}

func commandLines(pids []int) []string {
	var all []string
	for _, pid := range pids {
		data, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		all = append(all, strconv.Itoa(pid)+" "+strings.ReplaceAll(string(data), "\x00", " "))
	}
	return all
}

// someoneHasArgument reports whether any process on the machine has exactly this argument.
func someoneHasArgument(argument string) bool {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), "\x00"+argument+"\x00") {
			return true
		}
	}
	return false
}
