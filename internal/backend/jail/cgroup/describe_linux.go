package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"golang.org/x/sys/unix"
)

// describe says what the chosen hierarchies can do, and how the user gets the rest.
func describe(chosen []hierarchy, mounts []mount, problems []error) Controllers {
	var c Controllers
	var versions [2]bool
	for _, h := range chosen {
		c.Memory = c.Memory || h.memory
		c.CPU = c.CPU || h.cpu
		c.Processes = c.Processes || h.pids
		versions[0] = versions[0] || !h.v2
		versions[1] = versions[1] || h.v2
	}
	c.Version = map[[2]bool]string{
		{false, false}: "none", {true, false}: "v1", {false, true}: "v2", {true, true}: "v1 and v2",
	}[versions]

	var missing []string
	for _, limit := range []struct {
		name string
		has  bool
	}{{"memory", c.Memory}, {"cpu", c.CPU}, {"pids", c.Processes}} {
		if !limit.has {
			missing = append(missing, limit.name)
		}
	}
	if len(missing) > 0 {
		c.Why = fmt.Sprintf("no cgroup controller for %s: %s", strings.Join(missing, ", "), remedy(missing, mounts, problems))
	}
	return c
}

// remedy names the cause and what the user can do about it.
func remedy(missing []string, mounts []mount, problems []error) string {
	cause := "not enabled"
	if len(problems) > 0 {
		cause = problems[0].Error()
	}
	pureV2 := true
	for _, m := range mounts {
		pureV2 = pureV2 && m.v2
	}
	switch {
	case len(mounts) == 0:
		return "no cgroup file system is mounted; mount one at /sys/fs/cgroup"
	case errors.Is(errors.Join(problems...), unix.EROFS):
		return cause + "; in a container, start it with a writable /sys/fs/cgroup and a cgroup namespace of its own"
	case os.Geteuid() == 0 && pureV2:
		return cause + "; start the server in a group of its own, for instance with `systemd-run --scope -p Delegate=yes`"
	case os.Geteuid() == 0:
		return cause + "; mount the missing controllers, or boot with them enabled"
	case pureV2:
		return cause + "; start the server with `systemd-run --user --scope -p Delegate=yes`" +
			", and if that is not enough, let systemd delegate them: Delegate=cpu memory pids in a drop-in of user@.service"
	default:
		return fmt.Sprintf("%s; as root, run: for c in %s; do mkdir -p /sys/fs/cgroup/$c/%s && chown -R %s /sys/fs/cgroup/$c/%s; done",
			cause, strings.Join(missing, " "), shared, userName(), shared)
	}
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprint(os.Geteuid())
}
