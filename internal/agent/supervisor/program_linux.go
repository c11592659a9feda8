package supervisor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// run starts a program, passes its streams on and tells the server how it ended. An error means that
// it did not start.
func (s *supervisor) run(m *agent.Start, r *agent.Reader, w *agent.Writer) error {
	path, dir, err := s.locate(m)
	if err != nil {
		return err
	}
	pipes, err := newPipes(m.Stdin)
	if err != nil {
		return fmt.Errorf("start %s: %w", m.Args[0], err)
	}
	defer pipes.close()
	began := time.Now()
	pid, ended, err := s.fork(path, dir, m, pipes)
	pipes.closeTheirs()
	if err != nil {
		return startError(m.Args[0], err)
	}
	if err := w.Write(agent.TypeStarted, nil); err != nil {
		s.killTree(pid)
		s.programs.remove(pid)
		return nil // the server is gone
	}

	stop := make(chan backend.Outcome, 3) // one for each that may send
	go listen(r, w, pipes.stdin, stop)
	out := s.drain(m, pipes, w, stop)
	outcome, e := await(m.Timeout, ended, stop)
	s.killTree(pid)
	if outcome != "" {
		e = <-ended
	}
	if s.programs.remove(pid) {
		// Another program may hold this one's pipes; what it writes there is not this one's output.
		pipes.expire()
	}
	exit := result(outcome, e, time.Since(began))
	exit.Stdout, exit.Stderr = out()
	s.lookForFullDisk(&exit)
	_ = w.Write(agent.TypeExit, agent.Encode(&agent.Exit{Exit: exit})) // the server may be gone
	return nil
}

// fork starts the program, in a session of its own and with nothing but its three streams open.
func (s *supervisor) fork(path, dir string, m *agent.Start, p *pipes) (pid int, ended <-chan end, err error) {
	env := m.Env
	if env == nil {
		env = []string{}
	}
	s.spawn(func() {
		pid, ended, err = s.children.fork(func() (int, error) {
			return syscall.ForkExec(path, m.Args, &syscall.ProcAttr{
				Dir: dir, Env: env, Sys: &syscall.SysProcAttr{Setsid: true},
				Files: []uintptr{p.theirs[0].Fd(), p.theirs[1].Fd(), p.theirs[2].Fd()},
			})
		})
		if err == nil {
			s.programs.add(pid)
			s.bound(pid)
		}
	})
	return pid, ended, err
}

// bound sets the limit that this process could not live with itself: the Go runtime takes 64 MiB of
// address space at once.
func (s *supervisor) bound(pid int) {
	if s.options.Data > 0 {
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: s.options.Data, Max: s.options.Data}, nil) // it may have ended
	}
}

// locate finds the program in the PATH that it is to have itself, and its directory.
func (s *supervisor) locate(m *agent.Start) (path, dir string, err error) {
	if len(m.Args) == 0 || m.Args[0] == "" {
		return "", "", backend.Wrap(backend.ErrInvalid, errors.New("start: no program is named"))
	}
	dir = m.Dir
	if dir == "" {
		dir = s.options.WorkDir
	}
	if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
		return "", "", backend.Wrap(backend.ErrInvalid, fmt.Errorf("start %s: working directory %s: not a directory", m.Args[0], dir))
	}
	name := m.Args[0]
	if strings.Contains(name, "/") {
		return name, dir, nil
	}
	var list string
	for _, v := range m.Env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			list = value
		}
	}
	for _, place := range filepath.SplitList(list) {
		candidate := filepath.Join(place, name)
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return candidate, dir, nil
		}
	}
	return "", "", backend.Wrap(backend.ErrNotFound, fmt.Errorf("start %s: no such program in PATH %q", name, list))
}

func startError(name string, err error) error {
	kind := backend.ErrInvalid
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind = backend.ErrNotFound
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		kind = backend.ErrUnavailable
	}
	return backend.Wrap(kind, fmt.Errorf("start %s: %w", name, err))
}

// listen takes what the server sends to a running program: its standard input, and the order to stop,
// which is also what the end of the stream means.
func listen(r *agent.Reader, w *agent.Writer, stdin *os.File, stop chan<- backend.Outcome) {
	if stdin != nil {
		defer stdin.Close() //nolint:errcheck // closed by pipes too
	}
	for {
		t, payload, err := r.Next()
		switch {
		case err != nil, t == agent.TypeCancel:
			stop <- backend.Cancelled
			return
		case t == agent.TypeEOF && stdin != nil:
			_ = stdin.Close()
		case t == agent.TypeData && stdin != nil:
			// One frame is under way at a time, so this cannot keep a TypeCancel waiting for long
			// behind others; the program that does not read holds it up here, in a goroutine.
			data := append([]byte(nil), payload...)
			go func() {
				_, _ = stdin.Write(data) // a program need not read its input
				_ = w.Write(agent.TypeNext, nil)
			}()
		}
	}
}

// drain passes the program's output on. The function it returns waits for the end of both streams.
func (s *supervisor) drain(m *agent.Start, p *pipes, w *agent.Writer, stop chan<- backend.Outcome) func() (stdout, stderr backend.Cut) {
	var total atomic.Int64
	var once sync.Once
	var streams sync.WaitGroup
	var cuts [2]backend.Cut
	for i, wanted := range [2]bool{m.Stdout, m.Stderr} {
		streams.Go(func() {
			sink := io.Discard
			if wanted {
				sink = w.Data([2]agent.Type{agent.TypeStdout, agent.TypeStderr}[i])
			}
			o := newOutput(sink, m.Output)
			buf := make([]byte, 32<<10)
			for {
				n, err := p.ours[i].Read(buf)
				if m.Output.Kill > 0 && total.Add(int64(n)) > m.Output.Kill {
					once.Do(func() { stop <- backend.OutputLimited })
				}
				o.write(buf[:n])
				if err != nil {
					break
				}
			}
			cuts[i] = o.finish()
		})
	}
	return func() (stdout, stderr backend.Cut) {
		streams.Wait()
		return cuts[0], cuts[1]
	}
}

// await waits for the program's end, or for the reason to end it.
func await(timeout time.Duration, ended <-chan end, stop <-chan backend.Outcome) (backend.Outcome, end) {
	var deadline <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		deadline = timer.C
	}
	select {
	case e := <-ended:
		return "", e
	case <-deadline:
		return backend.TimedOut, end{}
	case outcome := <-stop:
		return outcome, end{}
	}
}

// result says how a program ended that outcome has stopped, or nothing.
func result(outcome backend.Outcome, e end, wall time.Duration) backend.Exit {
	exit := backend.Exit{
		Outcome: outcome,
		Code:    e.status.ExitStatus(),
		Usage: backend.Usage{
			Wall:       wall,
			CPU:        time.Duration(e.usage.Utime.Nano() + e.usage.Stime.Nano()),
			PeakMemory: e.usage.Maxrss << 10, // getrusage(2): in kilobytes
		},
	}
	if e.status.Signaled() {
		exit.Signal = int(e.status.Signal())
		exit.Code = 128 + exit.Signal
	}
	switch {
	case outcome == backend.TimedOut:
		exit.Code = backend.CodeTimedOut
	case outcome != "":
	case exit.Signal == 0:
		exit.Outcome = backend.Exited
	case e.status.Signal() == syscall.SIGSYS:
		exit.Outcome = backend.Denied
	case e.status.Signal() == syscall.SIGXFSZ:
		exit.Outcome = backend.OutOfDisk
		exit.Reached = append(exit.Reached, "disk")
	default:
		exit.Outcome = backend.Signaled
	}
	return exit
}

// lookForFullDisk marks an exit if a file system is full.
func (s *supervisor) lookForFullDisk(exit *backend.Exit) {
	for _, dir := range s.options.Disk {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) != nil || st.Blocks == 0 || (st.Bavail*uint64(st.Bsize) >= 64<<10 && st.Ffree > 0) { //nolint:gosec // a block has a positive size
			continue
		}
		exit.Reached = append(exit.Reached, "disk")
		if exit.Code != 0 && (exit.Outcome == backend.Exited || exit.Outcome == backend.Signaled) {
			exit.Outcome = backend.OutOfDisk
		}
		return
	}
}
