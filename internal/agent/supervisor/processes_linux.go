package supervisor

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A program is one that was started, with everything that it starts in turn.
type program struct {
	pid  int
	mark uint64
	// began is when it was forked. exited is closed when its first process was reaped; ended and
	// status are set by then.
	began  time.Time
	exited chan struct{}
	ended  time.Time
	status syscall.WaitStatus

	// The rest is guarded by processes.mu.

	// cpu and peak grow with each of its processes that is reaped.
	cpu  time.Duration
	peak int64
	// killed holds those of its processes that were killed while other programs ran.
	killed map[int]struct{}
}

// processes is all that runs below this one. Orphans become its children, so that nothing is left of a
// tree when no child is.
type processes struct {
	signals chan os.Signal
	done    chan struct{}

	// mu guards the rest. It is held while a program is forked, while an end is reaped and while
	// processes are chosen and killed: no end is taken for that of an orphan, and nothing is killed
	// that was started meanwhile.
	mu sync.Mutex
	// first holds the programs whose first process was not reaped, by its pid.
	first map[int]*program
	// active holds the programs that have not been ended.
	active map[*program]struct{}
	// changed is closed and made anew whenever a child was reaped.
	changed chan struct{}
	// mark grows with each program.
	mark uint64
	// closed says that no program is started any more.
	closed bool
}

func newProcesses() (*processes, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("agent: adopt orphans: %w", err)
	}
	p := &processes{
		signals: make(chan os.Signal, 1), done: make(chan struct{}),
		first: map[int]*program{}, active: map[*program]struct{}{}, changed: make(chan struct{}),
		mark: firstMark(),
	}
	signal.Notify(p.signals, syscall.SIGCHLD)
	go func() {
		defer close(p.done)
		for range p.signals {
			p.mu.Lock()
			p.reap()
			p.mu.Unlock()
		}
	}()
	return p, nil
}

// stop ends the reaper.
func (p *processes) stop() {
	signal.Stop(p.signals)
	close(p.signals)
	<-p.done
}

// fork enters the program whose first process start makes.
func (p *processes) fork(start func() (int, error)) (*program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, unix.ESHUTDOWN
	}
	p.mark++
	prog := &program{
		mark: setMark(p.mark), began: time.Now(),
		exited: make(chan struct{}), killed: map[int]struct{}{},
	}
	pid, err := start()
	if err != nil {
		return nil, err
	}
	prog.pid = pid
	p.first[pid] = prog
	p.active[prog] = struct{}{}
	return prog, nil
}

// reap takes the ends of all children that have ended, and reports whether children are left. The
// caller holds mu.
func (p *processes) reap() bool {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, &usage)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return false
		case pid == 0:
			return true
		}
		prog, ok := p.first[pid]
		if ok {
			delete(p.first, pid)
			prog.ended, prog.status = time.Now(), status
			close(prog.exited)
		} else {
			prog = p.ownerOf(pid)
		}
		if prog != nil {
			prog.cpu += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
			// In KiB, getrusage(2). It is never less than what this process had at the fork, which the
			// kernel counts in.
			prog.peak = max(prog.peak, usage.Maxrss<<10)
		}
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

// ownerOf returns the program that the orphan pid came from, or nil if that cannot be told.
func (p *processes) ownerOf(pid int) *program {
	for prog := range p.active {
		if _, killed := prog.killed[pid]; killed || len(p.active) == 1 {
			return prog
		}
	}
	return nil
}
