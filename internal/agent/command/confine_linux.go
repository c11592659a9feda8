package command

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/seccomp"
)

// confine sets the limits of this process, which programs inherit, and gives up the privileges and the
// system calls that they do not need.
func confine(o Options) error {
	for _, limit := range []struct {
		resource int
		name     string
		value    int64
	}{
		{unix.RLIMIT_NOFILE, "open files", o.OpenFiles},
		{unix.RLIMIT_FSIZE, "file size", o.FileSize},
	} {
		if limit.value <= 0 {
			continue
		}
		var own unix.Rlimit
		if err := unix.Getrlimit(limit.resource, &own); err != nil {
			return fmt.Errorf("read the limit of %s: %w", limit.name, err)
		}
		own.Max = min(own.Max, uint64(limit.value))
		own.Cur = own.Max
		if err := unix.Setrlimit(limit.resource, &own); err != nil {
			return fmt.Errorf("limit %s to %d: %w", limit.name, own.Max, err)
		}
	}
	if !o.Privileged {
		if _, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
			return fmt.Errorf("set no_new_privs: %w", errno)
		}
	}
	if !o.Filter {
		return nil
	}
	filter, err := seccomp.Filter()
	if err != nil {
		return err
	}
	return seccomp.Load(filter)
}
