package cgroup

import (
	"path/filepath"
	"strconv"
	"strings"
)

// A mount is a cgroup file system that this process sees.
type mount struct {
	v2 bool
	// root is the group that is shown at point.
	root, point string
	// controllers are those of a v1 hierarchy.
	controllers []string
}

// parseMounts reads the cgroup mounts from the text of /proc/self/mountinfo, proc(5).
func parseMounts(text string) []mount {
	var mounts []mount
	for line := range strings.Lines(text) {
		// 36 35 98:0 /root /point rw,noatime shared:1 - cgroup cgroup rw,memory
		left, right, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		before, after := strings.Fields(left), strings.Fields(right)
		if !ok || len(before) < 5 || len(after) < 3 {
			continue
		}
		m := mount{root: unescape(before[3]), point: filepath.Clean(unescape(before[4]))}
		if !filepath.IsAbs(m.point) {
			continue
		}
		switch after[0] {
		case "cgroup":
			m.controllers = strings.Split(after[2], ",")
		case "cgroup2":
			m.v2 = true
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// unescape resolves the octal escapes of mountinfo, such as \040 for a space.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// membership is the group a process is in: by controller for v1, and with the key "" for v2.
type membership map[string]string

// parseMembership reads the text of /proc/PID/cgroup, cgroups(7).
func parseMembership(text string) membership {
	own := membership{}
	for line := range strings.Lines(text) {
		// 4:cpu,cpuacct:/group and 0::/group
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for name := range strings.SplitSeq(fields[1], ",") {
			own[name] = fields[2]
		}
	}
	return own
}

// own returns the directory of the group that the process is in, or the mount point and false if the
// mount does not show that group.
func (m mount) own(groups membership) (dir string, shown bool) {
	group := groups[""]
	if !m.v2 {
		for _, name := range m.controllers {
			if g, ok := groups[name]; ok {
				group = g
			}
		}
	}
	below, ok := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !ok || !filepath.IsLocal("."+below) || below != "" && below[0] != '/' {
		return m.point, false // another branch, or above the root of our cgroup namespace: "/../other"
	}
	return filepath.Join(m.point, below), true
}

// shared is the directory that root may make in each v1 hierarchy, and give to an ordinary user, so that
// the user's sandboxes can have groups. In v2 it would not do: a user may only move processes below a
// group that is the user's own.
const shared = "llm-sandbox-mcp"

// leaf is the group that the server moves itself to when it has a v2 group for itself: a group with
// processes in it cannot limit the groups below.
const leaf = "llm-sandbox-mcp.leaf"

// parents are the directories in which trees could be made, best first: the group that the process is
// in, so that its own limits hold for the sandboxes too, the one that root made for us, and the groups
// above ours.
func (m mount) parents(groups membership) []string {
	dir, _ := m.own(groups)
	if m.v2 && filepath.Base(dir) == leaf {
		dir = filepath.Dir(dir)
	}
	dirs := []string{dir}
	if !m.v2 {
		dirs = append(dirs, filepath.Join(m.point, shared))
	}
	for dir != m.point {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	return dirs
}
