package stage

import (
	"errors"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/seccomp"
)

// confine brings up loopback, sets the limits and gives up everything that the process may do and
// programs must not. The order matters: each step needs what a later one takes away.
func confine(s *Setup) error {
	if err := loopback(); err != nil {
		return stepError("bring up", "loopback", err)
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return stepError("set", "host name", err)
	}
	for i := 0; i+2 < len(s.Limits); i += 3 {
		limit := unix.Rlimit{Cur: uint64(s.Limits[i+1]), Max: uint64(s.Limits[i+2])} //nolint:gosec // limits are not negative
		if err := unix.Setrlimit(int(s.Limits[i]), &limit); err != nil {
			return stepError("set", "resource limits", err)
		}
	}
	if err := landlock(s.Writable, s.Overlay, s.self); err != nil {
		return stepError("restrict", "file access with Landlock", err)
	}
	if err := dropBounding(); err != nil {
		return stepError("drop", "capability bounding set", err)
	}
	return dropAll(s)
}

// dropAll takes the capabilities from every thread of the process and loads the filter.
//
// With cgo the runtime cannot reach the threads that C made, so the binary is started once more from
// the main thread, and nothing of the old process is left.
func dropAll(s *Setup) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return stepError("set", "no_new_privs", err)
	}
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	none := new([2]unix.CapUserData)
	if err := unix.Capset(header, &none[0]); err != nil {
		return stepError("drop", "capabilities", err)
	}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(none)), 0)
	cgo := errno == unix.ENOTSUP
	if errno != 0 && !cgo {
		return stepError("drop", "capabilities", errno)
	}
	if len(s.Filter) > 0 {
		if err := seccomp.Load(s.Filter); err != nil {
			return stepError("load", "seccomp filter", err)
		}
	}
	if cgo {
		return execSelf(s)
	}
	return nil
}

// dropBounding empties the bounding set of the calling thread, up to the last capability this kernel
// knows, and the ambient set.
func dropBounding() error {
	for capability := uintptr(0); ; capability++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && capability > 0 {
			break
		}
		if err != nil {
			return err
		}
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

// switchUser gives every thread the ids that programs have. Root of the host has no name in this user
// namespace, so leaving it costs no capabilities: they are needed for the mounts.
func switchUser(uid, gid int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return stepError("drop", "supplementary groups", err)
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return stepError("set", "group id", err)
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return stepError("set", "user id", err)
	}
	return nil
}

// loopback sets the interface lo up.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// execSelf starts the binary again, as an agent that only serves. It returns only an error.
func execSelf(s *Setup) error {
	argv, err := syscall.SlicePtrFromStrings([]string{Name, served, s.WorkDir, strconv.Itoa(s.Data)})
	if err != nil {
		return err
	}
	envv := []*byte{nil}
	empty := []byte{0}
	_, _, errno := unix.RawSyscall6(unix.SYS_EXECVEAT, uintptr(s.self), uintptr(unsafe.Pointer(&empty[0])),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])), unix.AT_EMPTY_PATH, 0)
	return stepError("start", "the agent", errno)
}
