package stage

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of Landlock's file system access, by the first version of its ABI that has them:
// Documentation/userspace-api/landlock.rst. The right to execute is not among them: what can be read
// here can be executed.
const (
	landlockRead = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockV1   = landlockRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	landlockV2 = unix.LANDLOCK_ACCESS_FS_REFER
	landlockV3 = unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// landlockFile are the rights that can be given on something that is not a directory.
	landlockFile = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | landlockV3
)

// landlock is the second wall: programs may read and execute what the mounts show, and write only
// below the writable directories and to the devices, also if a mount should come loose. Kernels
// without Landlock are left with the first wall.
//
// The binary itself, self, stays readable: it lies outside of the root and may have to be started again.
func landlock(writable []string, overlay string, self int) error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return nil // ENOSYS or EOPNOTSUPP: this kernel has none, or it is switched off
	}
	handled := uint64(landlockV1)
	if abi >= 2 {
		handled |= landlockV2
	}
	if abi >= 3 {
		handled |= landlockV3
	}
	ruleset := struct{ access uint64 }{handled}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&ruleset)), unsafe.Sizeof(ruleset), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd)) //nolint:errcheck // only read from
	if err := allowFD(int(fd), self, unix.LANDLOCK_ACCESS_FS_READ_FILE); err != nil {
		return err
	}
	if err := allow(int(fd), "/", landlockRead&handled); err != nil {
		return err
	}
	if overlay != "" {
		writable = append([]string{overlay}, writable...)
	}
	for _, dir := range writable {
		if err := allow(int(fd), dir, handled); err != nil {
			return err
		}
	}
	for _, name := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty"} {
		if err := allow(int(fd), name, landlockFile&handled); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	if err := allow(int(fd), "/dev/pts", (landlockRead|landlockFile)&handled); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allow adds a rule to a ruleset: access below name.
func allow(ruleset int, name string, access uint64) error {
	parent, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(parent) //nolint:errcheck // a path descriptor
	return allowFD(ruleset, parent, access)
}

// allowFD is allow for a descriptor.
func allowFD(ruleset, parent int, access uint64) error {
	// struct landlock_path_beneath_attr is packed: eight bytes of rights, four of descriptor.
	var rule [12]byte
	*(*uint64)(unsafe.Pointer(&rule[0])) = access
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(parent) //nolint:gosec // a descriptor
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
