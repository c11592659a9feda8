package seccomp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// instructionSize is the size of a struct sock_filter in bytes.
const instructionSize = 8

// Load sets no_new_privs and puts filter over every thread of the calling process, at once and for
// good. It works in a process with many threads, made by Go or by C.
func Load(filter []byte) error {
	if len(filter) == 0 || len(filter)%instructionSize != 0 || len(filter)/instructionSize > unix.BPF_MAXINSNS {
		return fmt.Errorf("seccomp: load filter: %d bytes are no program", len(filter))
	}
	program := make([]unix.SockFilter, len(filter)/instructionSize)
	for i := range program {
		b := filter[i*instructionSize:]
		program[i] = unix.SockFilter{
			Code: binary.NativeEndian.Uint16(b),
			Jt:   b[2],
			Jf:   b[3],
			K:    binary.NativeEndian.Uint32(b[4:]),
		}
	}

	// no_new_privs belongs to a thread; the kernel copies it to the others together with the filter.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("seccomp: set no_new_privs: %w", err)
	}
	description := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} //nolint:gosec // at most BPF_MAXINSNS
	thread, _, errno := syscall.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&description)))
	runtime.KeepAlive(program)
	switch {
	case errno == unix.ENOSYS, errno == unix.EINVAL:
		return fmt.Errorf("seccomp: load filter: %w; the kernel needs CONFIG_SECCOMP_FILTER", errno)
	case errno != 0:
		return fmt.Errorf("seccomp: load filter: %w", errno)
	case thread != 0:
		return errors.New("seccomp: load filter: a thread of this process has a filter of its own")
	}
	return nil
}
