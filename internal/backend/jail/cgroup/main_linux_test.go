package cgroup_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail/cgroup"
)

// The test binary starts itself again as what runs in groups, or as another server. The first argument
// says as what.
const (
	childAllocate = "child-allocate" // use as many MiB as the next argument says
	childSpin     = "child-spin"     // use the processor for that many milliseconds
	childServer   = "child-server"   // be a server: see serve
	childAbandon  = "child-abandon"  // be a server that leaves everything behind
)

func TestMain(m *testing.M) {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "child-") {
		os.Exit(m.Run())
	}
	if err := child(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(what string, args []string) error {
	n := 0
	if len(args) > 0 {
		n, _ = strconv.Atoi(args[0])
	}
	switch what {
	case childAllocate:
		memory := make([]byte, n<<20)
		for i := 0; i < len(memory); i += os.Getpagesize() {
			memory[i] = 1
		}
		return nil
	case childSpin:
		for end := time.Now().Add(time.Duration(n) * time.Millisecond); time.Now().Before(end); {
		}
		return nil
	case childAbandon:
		return abandon()
	default:
		return serve()
	}
}

// self is this test binary, also for users who may not enter its directory.
const self = "/proc/self/exe"

// start starts a program in g.
func start(g *cgroup.Group, args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(args[0], args[1:]...)
	return cmd, g.Start(func(fd int) (int, error) {
		intoGroup(cmd, fd)
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
}

func intoGroup(cmd *exec.Cmd, fd int) {
	if fd >= 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
	}
}

// A report is what a server saw.
type report struct {
	Controllers cgroup.Controllers
	Killed      bool
	Events      cgroup.Events
	Inside      string
}

// serve detects, lets a program use too much memory in a group, cleans up, and reports on descriptor 3.
func serve() error {
	m, err := cgroup.Detect()
	if err != nil {
		return err
	}
	r := report{Controllers: m.Controllers()}
	owner, err := cgroup.Owner()
	if err != nil {
		return err
	}
	tree, err := m.Open(owner)
	if err != nil {
		return err
	}
	g, err := tree.New("one", backend.Limits{Memory: 32 << 20, Processes: 50, MilliCPUs: 1000})
	if err != nil {
		return err
	}
	waiting, err := start(g, "sleep", "1000")
	if err != nil {
		return err
	}
	inside, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", waiting.Process.Pid))
	if err != nil {
		return err
	}
	r.Inside = string(inside)
	if r.Controllers.Memory {
		cmd, err := start(g, self, childAllocate, "256")
		if err != nil {
			return err
		}
		r.Killed = killed(cmd.Wait())
	} else if err := waiting.Process.Kill(); err != nil { // without groups, Close kills nothing
		return err
	}
	if r.Events, err = g.Events(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := errors.Join(g.Close(ctx), tree.Close()); err != nil {
		return err
	}
	_ = waiting.Wait()
	return json.NewEncoder(os.NewFile(3, "answer")).Encode(r)
}

// abandon ends as a crash would, with a group in which a program runs. Its owner goes to descriptor 3.
func abandon() error {
	m, err := cgroup.Detect()
	if err != nil {
		return err
	}
	owner, err := cgroup.Owner()
	if err != nil {
		return err
	}
	tree, err := m.Open(owner)
	if err != nil {
		return err
	}
	g, err := tree.New("one", backend.Limits{})
	if err != nil {
		return err
	}
	if _, err := start(g, "sleep", "1000"); err != nil {
		return err
	}
	_, err = fmt.Fprint(os.NewFile(3, "answer"), owner)
	return err
}

// run starts this binary as a server, as nobody if asked to, and returns its answer.
func run(t *testing.T, nobody bool, what string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var stderr strings.Builder
	cmd := exec.Command(self, what)
	cmd.Dir = "/"
	cmd.Stderr = &stderr
	cmd.ExtraFiles = []*os.File{w}
	if nobody {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyID, Gid: nobodyID}}
	}
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v: %s", what, err, stderr.String())
	}
	answer := make([]byte, 64<<10) // all is written, and the program it left behind may hold the pipe
	n, err := r.Read(answer)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer[:n])
}

const nobodyID = 65534

func killed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// leftovers finds the trees of an owner in all hierarchies.
func leftovers(t *testing.T, owner string) []string {
	t.Helper()
	var left []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(entry.Name(), "llm-sandbox-mcp-"+owner) {
			left = append(left, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}
