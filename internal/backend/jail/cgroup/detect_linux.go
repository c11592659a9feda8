package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Manager knows where this process can make control groups.
type Manager struct {
	hierarchies []hierarchy
	controllers Controllers
	// into says that clone3(2) can start a process in a v2 group.
	into bool
}

// A hierarchy is a directory in which trees are made, and what it is used for.
type hierarchy struct {
	v2 bool
	// own is the directory of the group that this process is in, empty if it is not shown here.
	own string
	dir string
	roles
}

// roles are what a hierarchy is used for.
type roles struct {
	memory, cpu, pids bool
	// usage counts processor time, kill can stop and kill all processes.
	usage, kill bool
}

func (r roles) limits() int {
	n := 0
	for _, has := range []bool{r.memory, r.cpu, r.pids} {
		if has {
			n++
		}
	}
	return n
}

// Detect finds out, by trying, which controllers this process can use. It leaves no group behind, with
// one exception: if this process is alone in a v2 group that was delegated to it, it moves itself into
// a leaf of that group. The leaf goes when the group goes, or with the next [Sweep].
func Detect() (*Manager, error) {
	mounts, groups, err := readMounts()
	if err != nil {
		return nil, err
	}
	m := &Manager{}
	m.into = canCloneInto()
	var problems []error
	m.hierarchies, problems = choose(mounts, groups)
	m.controllers = describe(m.hierarchies, mounts, problems)
	return m, nil
}

// Controllers says what the manager can enforce.
func (m *Manager) Controllers() Controllers { return m.controllers }

func readMounts() ([]mount, membership, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, nil, fmt.Errorf("cgroup: find hierarchies: %w", err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil // the kernel has no control groups
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cgroup: find own groups: %w", err)
	}
	return parseMounts(string(text)), parseMembership(string(own)), nil
}

// choose picks one hierarchy for each role.
func choose(mounts []mount, groups membership) (chosen []hierarchy, problems []error) {
	missing := roles{memory: true, cpu: true, pids: true, usage: true, kill: true}
	take := func(m mount) {
		h, err := try(m, groups)
		if err != nil {
			problems = append(problems, err)
			return
		}
		h.memory, missing.memory = h.memory && missing.memory, missing.memory && !h.memory
		h.cpu, missing.cpu = h.cpu && missing.cpu, missing.cpu && !h.cpu
		h.pids, missing.pids = h.pids && missing.pids, missing.pids && !h.pids
		h.usage, missing.usage = h.usage && missing.usage, missing.usage && !h.usage
		h.kill, missing.kill = h.kill && missing.kill, missing.kill && !h.kill
		if h.roles != (roles{}) {
			chosen = append(chosen, h)
		}
	}
	// v2 first: one directory, counts and kills without controllers.
	for _, m := range mounts {
		if m.v2 {
			take(m)
		}
	}
	for _, m := range mounts {
		useful := slices.ContainsFunc(m.controllers, func(name string) bool {
			return name == "memory" && missing.memory || name == "cpu" && missing.cpu || name == "pids" && missing.pids ||
				name == "cpuacct" && missing.usage || name == "freezer" && missing.kill
		})
		if !m.v2 && useful {
			take(m)
		}
	}
	// What can kill all processes at once comes first, also when groups are removed.
	slices.SortStableFunc(chosen, func(a, b hierarchy) int {
		if a.kill == b.kill {
			return 0
		}
		if a.kill {
			return -1
		}
		return 1
	})
	return chosen, problems
}

// try finds the directory of a hierarchy in which most limits work. In v1 any that works will do.
func try(m mount, groups membership) (hierarchy, error) {
	best := hierarchy{v2: m.v2}
	if own, shown := m.own(groups); shown {
		best.own = own
	}
	attempt := tryV1
	if m.v2 {
		attempt = tryV2
	}
	var first error
	for i, dir := range m.parents(groups) {
		r, err := attempt(m, dir)
		if i == 0 && m.v2 && err == nil && r.limits() < 3 && moveToLeaf(dir) {
			r, err = attempt(m, dir)
		}
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		if best.dir == "" || r.limits() > best.limits() {
			best.dir, best.roles = dir, r
		}
		if !m.v2 || r.limits() == 3 {
			break
		}
	}
	if best.dir == "" {
		return best, first
	}
	return best, nil
}

// probes makes the names of concurrent probes differ.
var probes atomic.Int64

// probe makes a group below dir, calls look with it and removes it.
func probe(dir string, look func(dir string) error) error {
	owner, err := Owner()
	if err != nil {
		return err
	}
	child := filepath.Join(dir, prefix+owner+"-probe"+strconv.FormatInt(probes.Add(1), 10))
	if err := os.Mkdir(child, 0o700); err != nil {
		return err
	}
	return errors.Join(look(child), unix.Rmdir(child))
}

func writable(dir, file string) bool {
	return unix.Access(filepath.Join(dir, file), unix.W_OK) == nil
}

func tryV1(m mount, dir string) (r roles, err error) {
	err = probe(dir, func(child string) error {
		if !writable(child, "cgroup.procs") {
			return fmt.Errorf("%s: no permission to move processes", dir)
		}
		has := func(name, file string) bool { return slices.Contains(m.controllers, name) && writable(child, file) }
		r = roles{
			memory: has("memory", "memory.limit_in_bytes"),
			cpu:    has("cpu", "cpu.cfs_quota_us"),
			pids:   has("pids", "pids.max"),
			usage:  has("cpuacct", "cpuacct.usage"),
			kill:   has("freezer", "freezer.state"),
		}
		return nil
	})
	return r, err
}

func tryV2(_ mount, dir string) (r roles, err error) {
	// Moving processes to a group needs the permission to write here, too.
	if err := unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK); err != nil {
		return r, &os.PathError{Op: "use", Path: dir, Err: err}
	}
	enable(dir)
	err = probe(dir, func(child string) error {
		if kind, err := read(child, "cgroup.type"); err != nil || kind != "domain" {
			return fmt.Errorf("%s: its groups take no processes: cgroup.type is %q", dir, kind)
		}
		list, err := read(child, "cgroup.controllers")
		if err != nil {
			return err
		}
		have := strings.Fields(list)
		r = roles{
			memory: slices.Contains(have, "memory"),
			cpu:    slices.Contains(have, "cpu"),
			pids:   slices.Contains(have, "pids"),
			usage:  true,
			kill:   true,
		}
		return nil
	})
	return r, err
}

// enable passes on to the groups below dir what dir has of the controllers that we use. What cannot be
// passed on is then missing in the groups below.
//
// A group with processes must not be asked, except the root, which has no type: it would take cpu and
// pids alone and become threaded, and then no process could enter the groups below it.
func enable(dir string) {
	if _, err := read(dir, "cgroup.type"); err == nil {
		if inside, err := read(dir, "cgroup.procs"); err != nil || inside != "" {
			return
		}
	}
	on, err := read(dir, "cgroup.subtree_control")
	if err != nil {
		return
	}
	for _, name := range []string{"memory", "cpu", "pids"} {
		if !slices.Contains(strings.Fields(on), name) {
			_ = write(dir, "cgroup.subtree_control", "+"+name)
		}
	}
}

// moveToLeaf moves this process into a leaf of dir if it is the only one in dir.
func moveToLeaf(dir string) bool {
	inside, err := read(dir, "cgroup.procs")
	if err != nil || inside != strconv.Itoa(os.Getpid()) {
		return false
	}
	child := filepath.Join(dir, leaf)
	if err := os.Mkdir(child, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return false
	}
	return write(child, "cgroup.procs", "0") == nil
}

// canCloneInto reports whether the kernel, and a filter around us, let clone3(2) start processes in a
// group. It asks for a group that is not open; no process comes of it.
func canCloneInto() bool {
	arguments := [11]uint64{0: unix.CLONE_INTO_CGROUP, 4: uint64(unix.SIGCHLD), 10: 1<<31 - 1}
	_, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&arguments)), unsafe.Sizeof(arguments), 0)
	return errno == unix.EBADF
}
