//go:build unix

package stdio

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Watch looks every period whether a client can still be there and returns why not: nobody can read
// what is written to out, or the process that started this one has ended. It returns "" when ctx ends.
//
// A client that goes away usually ends the input too. It does not if another process has inherited the
// other end of the pipe. PR_SET_PDEATHSIG would not do: it fires when the thread that started this
// process ends, and clients start servers from threads that come and go.
//
// The parent is whoever it is after the first period, because a launcher that starts the server and
// ends at once is no client.
func Watch(ctx context.Context, period time.Duration, out *os.File) string {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	parent := 0
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-ticker.C:
		}
		if parent == 0 {
			parent = os.Getppid()
		}
		if os.Getppid() != parent {
			return "the parent process has ended"
		}
		if unread(out) {
			return "nobody reads the output any more"
		}
	}
}

// unread reports whether the other end of a pipe or socket is closed.
func unread(out *os.File) bool {
	raw, err := out.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	_ = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}} //nolint:gosec // descriptors are small numbers
		n, err := unix.Poll(fds, 0)
		gone = err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return gone
}
