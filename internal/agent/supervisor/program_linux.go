package supervisor

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// run starts a program, passes its streams on, and tells the server how it ended. What else the server
// has to say is read in a goroutine of rest; when it has closed its end, hangUp closes ours.
func (s *supervisor) run(m *agent.Start, rest *sync.WaitGroup, r *agent.Reader, w *agent.Writer, hangUp func()) error {
	<-s.threads
	before := s.groups.counters()
	prog, pipes, err := s.launch(m)
	if err != nil {
		return err
	}
	defer pipes.close()
	_ = w.Write(agent.TypeStarted, nil) // if the server is gone, listen learns it

	orders := newOrders()
	rest.Go(func() {
		orders.listen(r)
		hangUp() // output may wait for room in the stream
	})
	if pipes.stdin != nil {
		rest.Go(func() { orders.feed(pipes.stdin, w) })
	}
	over := make(chan struct{})
	out := drain(m, pipes, w, over)
	outcome := await(prog, m.Timeout, orders.cancelled, over)
	undead := s.processes.end(prog)
	pipes.expire()
	stdout, stderr, total := out()
	if undead != nil {
		return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("run %s: end it: %w", m.Args[0], undead))
	}
	exit := result(prog, outcome)
	exit.Stdout, exit.Stderr = stdout, stderr
	if outcome == "" && m.Output.Kill > 0 && total > m.Output.Kill {
		exit.Outcome = backend.OutputLimited // it ended before it could be killed
	}
	exit.Count(before, s.groups.counters())
	if diskFull(s.options.Disk) {
		reachDisk(&exit)
	}
	_ = w.Write(agent.TypeExit, agent.Encode(&agent.Exit{Exit: exit})) // the server may be gone
	return nil
}

// drain passes the program's output on, and closes over when it is more than allowed. The function it
// returns waits for the end of both streams and returns how long they were together.
func drain(m *agent.Start, p *pipes, w *agent.Writer, over chan<- struct{}) func() (stdout, stderr backend.Cut, total int64) {
	var written atomic.Int64
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
			p.read(i, func(b []byte) {
				if n := written.Add(int64(len(b))); m.Output.Kill > 0 && n > m.Output.Kill {
					once.Do(func() { close(over) })
				}
				o.write(b)
			})
			cuts[i] = o.finish()
		})
	}
	return func() (stdout, stderr backend.Cut, total int64) {
		streams.Wait()
		return cuts[0], cuts[1], written.Load()
	}
}

// await waits for the program's end, or for the reason to end it.
func await(p *program, timeout time.Duration, cancelled, over <-chan struct{}) backend.Outcome {
	var deadline <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout - time.Since(p.began))
		defer timer.Stop()
		deadline = timer.C
	}
	var outcome backend.Outcome
	select {
	case <-p.exited:
	case <-deadline:
		outcome = backend.TimedOut
	case <-cancelled:
		outcome = backend.Cancelled
	case <-over:
		outcome = backend.OutputLimited
	}
	select {
	case <-p.exited:
		return "" // by itself, at the last moment
	default:
		return outcome
	}
}

// result says how a program ended that outcome has stopped, or nothing.
func result(p *program, outcome backend.Outcome) backend.Exit {
	exit := backend.Exit{
		Outcome: outcome,
		Code:    p.status.ExitStatus(),
		Usage:   backend.Usage{Wall: p.ended.Sub(p.began), CPU: p.cpu, PeakMemory: p.peak},
	}
	if p.status.Signaled() {
		exit.Signal = int(p.status.Signal())
		exit.Code = 128 + exit.Signal
	}
	switch {
	case outcome == backend.TimedOut:
		exit.Code = backend.CodeTimedOut
	case outcome != "":
	case exit.Signal == 0:
		exit.Outcome = backend.Exited
	case p.status.Signal() == syscall.SIGSYS:
		exit.Outcome = backend.Denied
	case p.status.Signal() == syscall.SIGXFSZ:
		exit.Outcome = backend.OutOfDisk
		exit.Reached = append(exit.Reached, "disk")
	default:
		exit.Outcome = backend.Signaled
	}
	return exit
}

// fullBelow is the room that a file system still has when it counts as full: what did not fit was
// larger.
const fullBelow = 64 << 10

// diskFull reports whether one of the file systems has no room or no inode left. Some, like btrfs, do
// not count inodes.
func diskFull(dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) != nil || st.Blocks == 0 {
			return false
		}
		room := st.Bavail * uint64(st.Bsize) //nolint:gosec // a block has a positive size
		return room < fullBelow || (st.Files > 0 && st.Ffree == 0)
	})
}

// reachDisk marks the end of a program that has filled a file system.
func reachDisk(exit *backend.Exit) {
	if !slices.Contains(exit.Reached, "disk") {
		exit.Reached = append(exit.Reached, "disk")
	}
	if exit.Code != 0 && (exit.Outcome == backend.Exited || exit.Outcome == backend.Signaled) {
		exit.Outcome = backend.OutOfDisk
	}
}
