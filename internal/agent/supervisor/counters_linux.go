package supervisor

import (
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A groups reads the control groups that this process is in. Container engines show a container its own,
// read-only, at the usual place; where they do not, nothing is counted.
type groups struct {
	// memory, pids and cpu are directories, empty where there is no such controller. With version 2
	// they are the same.
	memory, pids, cpu string
	v2                bool
}

// cgroupRoot is where systems mount control groups, by convention.
const cgroupRoot = "/sys/fs/cgroup"

// ownGroups finds the groups by what proc_pid_cgroup(5) says. The paths there count from the root of the
// cgroup namespace; an engine that has no such namespace mounts the group itself at the root.
func ownGroups(root, list string) groups {
	var g groups
	for line := range strings.Lines(list) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if fields[0] == "0" && exists(path.Join(root, "cgroup.controllers")) {
			dir := innermost(root, fields[2])
			return groups{memory: dir, pids: dir, cpu: dir, v2: true}
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			switch controller {
			case "memory":
				g.memory = innermost(path.Join(root, controller), fields[2])
			case "pids":
				g.pids = innermost(path.Join(root, controller), fields[2])
			case "cpuacct":
				g.cpu = innermost(path.Join(root, controller), fields[2])
			}
		}
	}
	return g
}

// innermost returns the group below a hierarchy's root, or the root where the group is not shown.
func innermost(root, group string) string {
	if dir := path.Join(root, group); exists(dir) {
		return dir
	}
	return root
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// counters reads what is counted now.
func (g groups) counters() backend.Counters {
	if g.v2 {
		return backend.Counters{
			OOMKills:    field(g.memory, "memory.events", "oom_kill"),
			ProcessHits: field(g.pids, "pids.events", "max"),
			CPU:         time.Duration(field(g.cpu, "cpu.stat", "usage_usec")) * time.Microsecond,
			PeakMemory:  field(g.memory, "memory.peak", ""), // since Linux 5.19
		}
	}
	return backend.Counters{
		OOMKills:    field(g.memory, "memory.oom_control", "oom_kill"), // since Linux 4.13
		ProcessHits: field(g.pids, "pids.events", "max"),
		CPU:         time.Duration(field(g.cpu, "cpuacct.usage", "")),
		PeakMemory:  field(g.memory, "memory.max_usage_in_bytes", ""),
	}
}

// field reads a number from a control file: the one behind name, or the only one if name is empty. What
// cannot be read is 0.
func field(dir, file, name string) int64 {
	if dir == "" {
		return 0
	}
	text, err := os.ReadFile(path.Join(dir, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		key, value, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found {
			key, value = "", key
		}
		if key == name {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}
