package seccomp_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/seccomp"
)

// The test binary starts itself again to load the filter, which cannot be taken off. The first
// argument says what to do then.
const (
	childCalls   = "child-calls"   // make the calls named by the other arguments
	childForeign = "child-foreign" // make a call of 32-bit x86
	childThreads = "child-threads" // report the state of all threads
	childProgram = "child-program" // become another program
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
	filter, err := seccomp.Filter()
	if err != nil {
		return err
	}
	release := func() {}
	if what == childThreads {
		release = occupyThreads(8)
	}
	if err := seccomp.Load(filter); err != nil {
		return err
	}
	defer release()
	answer := os.NewFile(3, "answer")
	switch what {
	case childCalls:
		return makeCalls(answer, args)
	case childForeign:
		return makeForeignCall(answer)
	case childThreads:
		return reportThreads(answer)
	default:
		path, err := exec.LookPath(args[0])
		if err != nil {
			return err
		}
		return syscall.Exec(path, args, os.Environ())
	}
}

// run starts the test binary as a child without privileges and returns what it wrote to descriptor 3.
// It is given no privileges because a call that the filter lets through by mistake would be made.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var stderr strings.Builder
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.ExtraFiles = []*os.File{w}
	cmd.Stderr = &stderr
	cmd.Dir = "/"
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if _, err := r.WriteTo(&out); err != nil {
		t.Error(err)
	}
	if err = cmd.Wait(); err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return out.String(), err
}

// missing skips a test, or fails it where SANDBOX_TEST_REQUIRE names what it needs.
func missing(t *testing.T, need, why string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("SANDBOX_TEST_REQUIRE"), ","), need) {
		t.Fatalf("%s is required: %s", need, why)
	}
	t.Skipf("needs %s: %s", need, why)
}
