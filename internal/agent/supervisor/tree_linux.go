package supervisor

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// retry is how long to wait between two looks at processes that were told to die.
	retry = 5 * time.Millisecond
	// giveUp bounds the wait for the end of a tree. What outlives SIGKILL for so long is held by the
	// kernel, and ends with the sandbox at the latest.
	giveUp = 2 * time.Second
	// stopRounds bounds the looks for processes that are to be stopped before they are killed.
	stopRounds = 50
)

// errUndead: processes did not die.
var errUndead = errors.New("its processes do not die")

// end kills the program and everything that came from it, and returns when it is gone.
//
// Alone in its sandbox a program's tree is everything. Beside others it is what descends from it, its
// session, and what has its mark. What escapes even that is killed with the last program.
func (p *processes) end(prog *program) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := p.until(func() bool {
		if len(p.active) == 1 {
			return p.killEverything()
		}
		return p.killProgram(prog)
	})
	delete(p.active, prog)
	if _, runs := p.first[prog.pid]; runs || !gone {
		return errUndead
	}
	return nil
}

// endAll kills everything there is, and lets nothing new start.
func (p *processes) endAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.until(p.killEverything)
}

// until calls kill until it reports that nothing was left, or to no avail. The caller holds mu; while
// this waits it does not.
func (p *processes) until(kill func() bool) bool {
	deadline := time.Now().Add(giveUp)
	for !kill() {
		if time.Now().After(deadline) {
			return false
		}
		changed := p.changed
		p.mu.Unlock()
		timer := time.NewTimer(retry)
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
		p.mu.Lock()
	}
	return true
}

// killEverything sends SIGKILL to everything and reports whether there was nothing. As the first
// process of a pid namespace, everything is all others in it; elsewhere, what descends from this one.
func (p *processes) killEverything() bool {
	children := p.reap()
	if os.Getpid() == 1 {
		return errors.Is(unix.Kill(-1, unix.SIGKILL), unix.ESRCH)
	}
	if !children {
		return true
	}
	self := os.Getpid()
	killTree(func(_ int, q proc) bool { return q.parent == self })
	for pid := range p.first { // also where there is no /proc
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
	return false
}

// killProgram sends SIGKILL to what belongs to one program, and reports whether there was nothing.
func (p *processes) killProgram(prog *program) bool {
	p.reap()
	killed := killTree(func(pid int, q proc) bool {
		return pid == prog.pid || q.session == prog.pid || hasMark(pid, prog.mark)
	})
	for pid := range killed {
		prog.killed[pid] = struct{}{}
	}
	_, runs := p.first[prog.pid]
	if runs { // also where there is no /proc
		_ = unix.Kill(-prog.pid, unix.SIGKILL)
	}
	return !runs && len(killed) == 0
}

// killTree kills the processes that root holds for and all that descend from them, and returns them.
// It stops them first, until a look finds no new one: what is stopped forks no more, and, other than
// what is killed, leaves its place under the limit of processes to nobody.
func killTree(root func(int, proc) bool) map[int]struct{} {
	found := map[int]struct{}{}
	for range stopRounds {
		before := len(found)
		for pid := range descendants(root) {
			if _, known := found[pid]; !known {
				found[pid] = struct{}{}
				_ = unix.Kill(pid, unix.SIGSTOP)
			}
		}
		if len(found) == before {
			break
		}
	}
	for pid := range found {
		_ = unix.Kill(pid, unix.SIGKILL) // it may be gone, which is as good
	}
	return found
}

// A proc is what the process table says of a process.
type proc struct{ parent, session int }

// descendants returns the processes that root holds for, and all that descend from them. Whatever root
// says, they are below this process: on a machine that it does not have to itself, others are none of
// its business.
func descendants(root func(int, proc) bool) map[int]struct{} {
	table := processTable()
	self := os.Getpid()
	below := spread(table, map[int]struct{}{self: {}})
	delete(below, self)
	roots := map[int]struct{}{}
	for pid := range below {
		if root(pid, table[pid]) {
			roots[pid] = struct{}{}
		}
	}
	return spread(table, roots)
}

// spread adds to chosen all that descends from it.
func spread(table map[int]proc, chosen map[int]struct{}) map[int]struct{} {
	for grown := true; grown; {
		grown = false
		for pid, q := range table {
			if _, known := chosen[pid]; known {
				continue
			}
			if _, ok := chosen[q.parent]; ok {
				chosen[pid] = struct{}{}
				grown = true
			}
		}
	}
	return chosen
}

// processTable reads /proc. It is empty where that belongs to another pid namespace.
func processTable() map[int]proc {
	table := map[int]proc{}
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return table
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return table
	}
	defer dir.Close() //nolint:errcheck // read only
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if q, ok := readProc(pid); ok {
				table[pid] = q
			}
		}
	}
	// The parent of some may have ended before it was read. They have another by now.
	for pid, q := range table {
		if _, ok := table[q.parent]; ok || q.parent == 0 {
			continue
		}
		if q, ok := readProc(pid); ok {
			table[pid] = q
		}
	}
	return table
}

func readProc(pid int) (proc, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	// proc_pid_stat(5): the name in parentheses may hold anything; state, ppid, pgrp, session follow.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 {
		return proc{}, false
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	session, _ := strconv.Atoi(string(fields[3]))
	return proc{parent, session}, true
}
