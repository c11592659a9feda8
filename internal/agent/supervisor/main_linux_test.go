package supervisor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/client"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/supervisor"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// What argv[0] of this test binary says it is to be.
const (
	asChild = "test-supervisor"
	asInit  = "test-supervisor-init"
	asStdio = "test-supervisor-stdio"
)

// path is the PATH of the programs that tests start.
const path = "PATH=/usr/local/bin:/usr/bin:/bin"

func TestMain(m *testing.M) {
	switch os.Args[0] {
	case asChild:
		os.Exit(supervisor.Run(3, options()))
	case asInit:
		if err := ownNamespace(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(supervisor.Run(3, options()))
	case asStdio:
		os.Exit(supervisor.RunStdio(options()))
	}
	goleak.VerifyTestMain(m)
}

func options() supervisor.Options {
	var o supervisor.Options
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return o
}

// ownNamespace gives pid 1 a /proc of its own, and a small file system at each of the directories.
func ownNamespace(small []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, dir := range small {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
			return err
		}
	}
	return unix.Mount("proc", "/proc", "proc", 0, "")
}

// A sandbox is a supervisor that runs, without any isolation.
type sandbox struct {
	*client.Client
	t       testing.TB
	mode    string
	dir     string
	pid     int
	process *os.Process
}

// A mode is how a supervisor runs.
type mode struct {
	name string
	// small are directories that get a file system of 1 MiB; only an init can do that.
	small []string
	work  string
}

// each runs a test with a supervisor that is an ordinary process, and with one that is pid 1.
func each(t *testing.T, test func(t *testing.T, s *sandbox)) {
	t.Helper()
	for _, name := range []string{asChild, asInit} {
		t.Run(name, func(t *testing.T) { test(t, boot(t, mode{name: name})) })
	}
}

// boot starts a supervisor in a state that it must not pass on: with signals blocked and ignored, and
// with a descriptor that is not for programs.
func boot(t testing.TB, m mode) *sandbox {
	t.Helper()
	if m.name == asInit && os.Getuid() != 0 {
		t.Skip("a pid namespace needs root")
	}
	if m.work == "" {
		m.work = t.TempDir()
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	leak, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	o, err := json.Marshal(supervisor.Options{WorkDir: m.work, Disk: m.small})
	if err != nil {
		t.Fatal(err)
	}
	attr := &os.ProcAttr{Files: []*os.File{nil, nil, os.Stderr, theirs, nil, leak}, Sys: &syscall.SysProcAttr{}, Env: []string{"GORACE=atexit_sleep_ms=0"}}
	if m.name == asInit {
		attr.Sys.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
	}
	args := append([]string{m.name, string(o)}, m.small...)
	p, err := dirtyStart(args, attr)
	if err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	_ = leak.Close()
	s := &sandbox{t: t, mode: m.name, dir: m.work, pid: p.Pid, process: p}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if s.Client, err = client.New(ctx, ours); err != nil {
		t.Fatalf("new client: %v", err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		s.waitGone()
	})
	return s
}

// dirtyStart starts this binary with signals ignored and blocked.
func dirtyStart(args []string, attr *os.ProcAttr) (*os.Process, error) {
	ignored := []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGPIPE, unix.SIGUSR1}
	signal.Ignore(ignored...)
	defer signal.Reset(ignored...)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var blocked, old unix.Sigset_t
	blocked.Val[0] = 1<<(unix.SIGTERM-1) | 1<<(unix.SIGHUP-1) | 1<<(unix.SIGUSR2-1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, &old); err != nil {
		return nil, err
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) //nolint:errcheck // it was so before
	return os.StartProcess("/proc/self/exe", args, attr)
}

// waitGone waits until the supervisor has ended by itself.
func (s *sandbox) waitGone() {
	s.t.Helper()
	if s.process == nil {
		return
	}
	killer := time.AfterFunc(10*time.Second, func() {
		s.t.Error("the supervisor did not end after its connection had")
		_ = s.process.Kill()
	})
	_, _ = s.process.Wait()
	killer.Stop()
	s.process = nil
}

// A run is a program that has ended.
type run struct {
	backend.Exit
	stdout, stderr string
}

// start starts a program; the function it returns waits for its end.
func (s *sandbox) start(ctx context.Context, cmd backend.Command) func() run {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	if cmd.Env == nil {
		cmd.Env = []string{path}
	}
	p, err := s.Start(ctx, cmd)
	if err != nil {
		s.t.Fatalf("start %q: %v", cmd.Args, err)
	}
	return func() run {
		exit, err := p.Wait()
		if err != nil {
			s.t.Errorf("wait for %q: %v", cmd.Args, err)
		}
		return run{exit, stdout.String(), stderr.String()}
	}
}

// sh runs a script of the shell to its end.
func (s *sandbox) sh(script string) run {
	s.t.Helper()
	return s.start(s.t.Context(), shell(script))()
}

func shell(script string) backend.Command {
	return backend.Command{Args: []string{"sh", "-c", script}, Env: []string{path}, Timeout: 20 * time.Second}
}

// tag returns an argument for sleep(1) that no other process has.
func tag() string { return fmt.Sprintf("%d.%d", 1000+os.Getpid(), time.Now().UnixNano()) }

// sleepers returns the processes of this machine that sleep for tag.
func sleepers(tag string) []int {
	var found []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && bytes.Contains(b, []byte(tag)) && bytes.HasPrefix(b, []byte("sleep")) {
			pid, _ := strconv.Atoi(strings.Split(f, "/")[2])
			found = append(found, pid)
		}
	}
	return found
}

// eventually waits until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

// children counts the children of pid, zombies included, and descriptors what it has open.
func children(pid int) int {
	n := 0
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		n += len(strings.Fields(string(b)))
	}
	return n
}

func descriptors(pid int) int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries)
}

// endless never ends and never fails.
type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

var _ io.Reader = endless{}

func wantKind(t *testing.T, err, kind error, texts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want an error of kind %q", err, kind)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not name %q", err, text)
		}
	}
}
