package supervisor_test

import (
	"context"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/client"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// BenchmarkHello is from the start of a process to the greeting of its supervisor. The process is this
// test binary, whose packages take their time too.
func BenchmarkHello(b *testing.B) {
	for b.Loop() {
		c, p := hello(b)
		b.StopTimer()
		goodbye(c, p)
		b.StartTimer()
	}
}

// BenchmarkFirst adds the first program, to its end.
func BenchmarkFirst(b *testing.B) {
	for b.Loop() {
		c, p := hello(b)
		runTrue(b, c)
		b.StopTimer()
		goodbye(c, p)
		b.StartTimer()
	}
}

// BenchmarkStart is one program after another, each from its start to its end.
func BenchmarkStart(b *testing.B) {
	c, p := hello(b)
	defer goodbye(c, p)
	for b.Loop() {
		runTrue(b, c)
	}
}

// BenchmarkForkExec is what the same program costs without a supervisor.
func BenchmarkForkExec(b *testing.B) {
	attr := &os.ProcAttr{Files: []*os.File{nil, nil, nil}, Env: []string{}, Dir: "/"}
	for b.Loop() {
		p, err := os.StartProcess("/bin/true", []string{"true"}, attr)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}

func hello(b *testing.B) (*client.Client, *os.Process) {
	b.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		b.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "theirs")
	defer theirs.Close()
	p, err := os.StartProcess("/proc/self/exe", []string{asChild, "{}"}, &os.ProcAttr{
		Files: []*os.File{nil, nil, nil, theirs}, Env: []string{}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		b.Fatal(err)
	}
	c, err := client.New(context.Background(), os.NewFile(uintptr(fds[0]), "ours"))
	if err != nil {
		b.Fatal(err)
	}
	return c, p
}

func goodbye(c *client.Client, p *os.Process) {
	_ = c.Close()
	_, _ = p.Wait()
}

func runTrue(b *testing.B, c *client.Client) {
	b.Helper()
	p, err := c.Start(context.Background(), backend.Command{Args: []string{"/bin/true"}, Dir: "/"})
	if err != nil {
		b.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		b.Fatal(exit, err)
	}
}
