package supervisor

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// programs are the programs that run, by the id of their first process.
type programs struct {
	mu   sync.Mutex
	pids map[int]struct{}
}

func (p *programs) add(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pids == nil {
		p.pids = map[int]struct{}{}
	}
	p.pids[pid] = struct{}{}
}

// remove takes pid out and reports whether others are left.
func (p *programs) remove(pid int) (others bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pids, pid)
	return len(p.pids) > 0
}

// others returns the programs but pid.
func (p *programs) others(pid int) map[int]struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := map[int]struct{}{}
	for other := range p.pids {
		if other != pid {
			rest[other] = struct{}{}
		}
	}
	return rest
}

// retry is how long to wait between two looks at processes that were told to die.
const retry = 5 * time.Millisecond

// killTree kills the program pid and everything that came from it, and returns when it is gone.
//
// Alone in its sandbox a program's tree is everything. Beside others it is all its descendants and all
// of its session; a process that left the session and lost its parent can no longer be told apart, and
// is killed with the last program.
func (s *supervisor) killTree(pid int) {
	for {
		changed := s.children.change()
		others := s.programs.others(pid)
		var left bool
		if len(others) == 0 {
			left = s.killEverything()
		} else {
			left = kill(descendants(func(p proc) bool { return p.pid == pid || p.session == pid }, others))
		}
		if !left {
			return
		}
		wait(changed)
	}
}

// killAll kills everything there is.
func (s *supervisor) killAll() {
	for {
		changed := s.children.change()
		if !s.killEverything() {
			return
		}
		wait(changed)
	}
}

// killEverything sends SIGKILL to everything and reports whether there was anything. As the first
// process of a pid namespace, everything is all others in it; elsewhere, what descends from this one.
func (s *supervisor) killEverything() bool {
	if os.Getpid() == 1 {
		return !errors.Is(unix.Kill(-1, unix.SIGKILL), unix.ESRCH)
	}
	self := os.Getpid()
	return kill(descendants(func(p proc) bool { return p.parent == self }, nil))
}

func wait(changed <-chan struct{}) {
	timer := time.NewTimer(retry)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
}

func kill(pids []int) bool {
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL) // it may be gone, which is as good
	}
	return len(pids) > 0
}

// A proc is a line of the process table.
type proc struct{ pid, parent, session int }

// descendants returns the processes that root holds for, and all that descend from them, but nothing
// that is, or descends from, one of keep.
func descendants(root func(proc) bool, keep map[int]struct{}) []int {
	table := processes()
	chosen := map[int]bool{}
	for changed := true; changed; {
		changed = false
		for _, p := range table {
			if _, kept := keep[p.pid]; kept || chosen[p.pid] {
				continue
			}
			if root(p) || chosen[p.parent] {
				chosen[p.pid] = true
				changed = true
			}
		}
	}
	pids := make([]int, 0, len(chosen))
	for pid := range chosen {
		pids = append(pids, pid)
	}
	return pids
}

// processes reads the process table.
func processes() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close() //nolint:errcheck // read only
	names, _ := dir.Readdirnames(-1)
	table := make([]proc, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// proc_pid_stat(5): the name in parentheses may hold anything; state, ppid, pgrp, session follow.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 4 {
			continue
		}
		parent, _ := strconv.Atoi(string(fields[1]))
		session, _ := strconv.Atoi(string(fields[3]))
		table = append(table, proc{pid, parent, session})
	}
	return table
}
