package supervisor

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// A reaper waits for all children of this process: the programs, and the orphans that the kernel hands
// to it.
type reaper struct {
	signals chan os.Signal
	done    chan struct{}

	mu       sync.Mutex
	programs map[int]chan<- end
	// changed is closed and made anew whenever a child was reaped.
	changed chan struct{}
}

// An end is how a child ended.
type end struct {
	status syscall.WaitStatus
	usage  syscall.Rusage
}

func newReaper() *reaper {
	r := &reaper{
		signals: make(chan os.Signal, 1), done: make(chan struct{}),
		programs: map[int]chan<- end{}, changed: make(chan struct{}),
	}
	signal.Notify(r.signals, syscall.SIGCHLD)
	go func() {
		defer close(r.done)
		for range r.signals {
			for r.reap() {
			}
		}
	}()
	return r
}

func (r *reaper) stop() {
	signal.Stop(r.signals)
	close(r.signals)
	<-r.done
}

// fork calls start, which returns the id of a new child, and sends the child's end to the channel. No
// child is reaped meanwhile, so that its end is not taken for that of an orphan.
func (r *reaper) fork(start func() (int, error)) (int, <-chan end, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := start()
	if err != nil {
		return 0, nil, err
	}
	ended := make(chan end, 1)
	r.programs[pid] = ended
	return pid, ended, nil
}

// reap takes one child that has ended and reports whether there was one.
func (r *reaper) reap() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e end
	pid, err := syscall.Wait4(-1, &e.status, syscall.WNOHANG, &e.usage)
	if err != nil || pid <= 0 {
		return false
	}
	if ended, ok := r.programs[pid]; ok {
		ended <- e
		delete(r.programs, pid)
	}
	close(r.changed)
	r.changed = make(chan struct{})
	return true
}

// change returns a channel that is closed when the next child is reaped.
func (r *reaper) change() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}
