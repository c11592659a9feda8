package cgroup

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A Group is the control group of one sandbox: a directory in each hierarchy.
type Group struct {
	hierarchies []hierarchy // dir is the group's own
	// fd is the directory of the v2 group, for CLONE_INTO_CGROUP, or -1 without v2 or that flag.
	fd int
}

// Add moves a process into the group. Its children follow only if they are born later. The first move
// after a pause costs the kernel some 10 ms, a grace period of RCU; [Group.Start] has no such cost.
func (g *Group) Add(pid int) error {
	for _, h := range g.hierarchies {
		if err := h.add(pid); err != nil {
			return err
		}
	}
	return nil
}

func (h hierarchy) add(pid int) error {
	if err := write(h.dir, "cgroup.procs", strconv.Itoa(pid)); err != nil {
		return fmt.Errorf("cgroup: add process: %w", err)
	}
	return nil
}

// Start calls start, which starts one process, in such a way that the process is born in the group.
// Unless fd is -1, start must make the process with CLONE_INTO_CGROUP and fd, which belongs to the
// group. start runs on the calling goroutine and must not hand its work to another.
//
// In v1 hierarchies the calling thread itself moves into the group and back: the kernel does that
// without the wait that Add is about. Where a thread cannot, the new process is moved.
func (g *Group) Start(start func(fd int) (pid int, err error)) error {
	runtime.LockOSThread()
	var later, inside []hierarchy
	for _, h := range g.hierarchies {
		switch {
		case h.v2 && g.fd >= 0:
		case !h.v2 && h.own != "" && writable(h.own, "tasks") && write(h.dir, "tasks", "0") == nil:
			inside = append(inside, h)
		default:
			later = append(later, h)
		}
	}
	pid, err := start(g.fd)
	back := true
	for _, h := range inside {
		back = write(h.own, "tasks", "0") == nil && back
	}
	if back {
		// A thread that stayed inside must not serve other goroutines: it ends with this one.
		runtime.UnlockOSThread()
	}
	if err != nil {
		return err
	}
	for _, h := range later {
		if err := h.add(pid); err != nil {
			return err
		}
	}
	return nil
}

// Usage returns the processor time that the group has used and the most memory, in bytes, that it had
// at one time, caches and temporary files included. What is not counted on this system is 0.
func (g *Group) Usage() (cpu time.Duration, peakMemory int64, err error) {
	var errs []error
	for _, h := range g.hierarchies {
		switch {
		case h.usage && h.v2:
			microseconds, err := field(h.dir, "cpu.stat", "usage_usec")
			cpu = time.Duration(microseconds) * time.Microsecond
			errs = append(errs, err)
		case h.usage:
			nanoseconds, err := number(h.dir, "cpuacct.usage")
			cpu = time.Duration(nanoseconds)
			errs = append(errs, err)
		}
		if h.memory {
			file := "memory.max_usage_in_bytes"
			if h.v2 {
				file = "memory.peak" // since Linux 5.19
			}
			peakMemory, err = number(h.dir, file)
			errs = append(errs, present(err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return cpu, peakMemory, fmt.Errorf("cgroup: read usage: %w", err)
	}
	return cpu, peakMemory, nil
}

// Events returns how often the group ran into its limits so far.
func (g *Group) Events() (Events, error) {
	var e Events
	var errs []error
	for _, h := range g.hierarchies {
		if h.memory {
			errs = append(errs, h.memoryEvents(&e))
		}
		if h.pids {
			hits, err := field(h.dir, "pids.events", "max")
			e.ProcessHits = hits
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return e, fmt.Errorf("cgroup: read events: %w", err)
	}
	return e, nil
}

func (h hierarchy) memoryEvents(e *Events) (err error) {
	if h.v2 {
		text, err := read(h.dir, "memory.events")
		if err != nil {
			return err
		}
		hits, err1 := lookup(text, "max")
		kills, err2 := lookup(text, "oom_kill")
		e.MemoryHits, e.OOMKills = hits, kills
		return errors.Join(err1, err2)
	}
	e.OOMKills, err = field(h.dir, "memory.oom_control", "oom_kill") // since Linux 4.13
	if err != nil {
		return err
	}
	e.MemoryHits, err = h.memoryHitsV1()
	return err
}

// memoryHitsV1 adds up the failed charges. Linux 6.18 was seen not to count them; there, one hit is
// what can be said if the peak stands at the limit, to which charges come in batches of 64 pages.
func (h hierarchy) memoryHitsV1() (int64, error) {
	failed, err1 := number(h.dir, "memory.failcnt")
	swap, err2 := number(h.dir, "memory.memsw.failcnt")
	peak, err3 := number(h.dir, "memory.max_usage_in_bytes")
	limit, err4 := number(h.dir, "memory.limit_in_bytes")
	if hits := failed + swap; hits > 0 || peak < limit-int64(64*os.Getpagesize()) {
		return hits, errors.Join(err1, present(err2), err3, err4)
	}
	return 1, errors.Join(err1, present(err2), err3, err4)
}

// processes returns the ids of the processes in a group, in our pid namespace.
func processes(dir string) ([]int, error) {
	text, err := read(dir, "cgroup.procs")
	if err != nil {
		return nil, err
	}
	var pids []int
	for line := range strings.Lines(text) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
