package stage

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// base is where the new root is assembled. Every Linux system has it, and what the host keeps there is
// hidden from the moment the new root lies over it.
const base = "/tmp"

// build assembles the root directory of the sandbox and makes it the process's root. One tmpfs holds
// the root and everything writable, so that one size bounds it all.
//
// The host's paths are opened first, while the process still has the identity of the server: a runtime
// below a home directory with mode 0700 is reachable only then.
func build(s *Setup) error {
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return stepError("unshare", "cgroup namespace", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return stepError("mount", "/ private", err)
	}
	binds, err := openTrees(s.Binds)
	if err != nil {
		return err
	}
	devices := make([]int, len(s.Devices))
	for i, name := range s.Devices {
		if devices[i], err = openTree("/dev/" + name); err != nil {
			return stepError("open", "/dev/"+name, err)
		}
	}
	if s.Switch {
		if err := switchUser(s.UID, s.GID); err != nil {
			return err
		}
	}
	options := "mode=0755," + s.Bounds
	if err := unix.Mount("sandbox", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return stepError("mount", "tmpfs with "+options, err)
	}
	if err := unix.Chdir(base); err != nil {
		return stepError("enter", base, err)
	}
	unix.Umask(0)
	if err := populate(s, binds, devices); err != nil {
		return err
	}
	// With both names ".", the old root ends up under the new one and is taken away from there:
	// pivot_root(2), NOTES.
	if err := unix.PivotRoot(".", "."); err != nil {
		return stepError("pivot_root", base, err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return stepError("unmount", "the host's root", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return stepError("enter", "/", err)
	}
	if err := attributes(unix.AT_FDCWD, "/", 0, unix.MOUNT_ATTR_RDONLY); err != nil {
		return stepError("make read-only", "/", err)
	}
	unix.Umask(0o022)
	return nil
}

// populate fills the new root, which is the working directory.
func populate(s *Setup, binds, devices []int) error {
	for i := 0; i < len(s.Links); i += 2 {
		if err := symlink(s.Links[i+1], s.Links[i]); err != nil {
			return err
		}
	}
	for i, fd := range binds {
		if err := attach(fd, s.Binds[2*i+1], unix.AT_RECURSIVE,
			unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
			return err
		}
	}
	for i := 0; i < len(s.Files); i += 2 {
		if err := mkdirAll(path.Dir(rel(s.Files[i]))); err != nil {
			return err
		}
		if err := os.WriteFile(rel(s.Files[i]), []byte(s.Files[i+1]), 0o444); err != nil {
			return stepError("write", s.Files[i], err)
		}
	}
	if err := populateDev(s.Devices, devices); err != nil {
		return err
	}
	if err := mkdirAll("proc"); err != nil {
		return err
	}
	if err := unix.Mount("proc", "proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, ""); err != nil {
		return stepError("mount", "/proc", err)
	}
	if s.Overlay != "" {
		if err := overlay(rel(s.Overlay)); err != nil {
			return err
		}
	}
	for _, dir := range s.Writable {
		if err := writable(dir); err != nil {
			return err
		}
	}
	return nil
}

// populateDev makes /dev: a few devices of the host, terminals of its own, and the usual links.
func populateDev(names []string, fds []int) error {
	if err := mkdirAll("dev/pts"); err != nil {
		return err
	}
	for i, fd := range fds {
		if err := attach(fd, "/dev/"+names[i], 0, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"dev/fd": "/proc/self/fd", "dev/stdin": "/proc/self/fd/0", "dev/stdout": "/proc/self/fd/1",
		"dev/stderr": "/proc/self/fd/2", "dev/ptmx": "pts/ptmx",
	} {
		if err := symlink(target, name); err != nil {
			return err
		}
	}
	if err := unix.Mount("devpts", "dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return stepError("mount", "/dev/pts", err)
	}
	return nil
}

// writable makes dir and mounts it onto itself, so that it stays writable when the root is not.
func writable(dir string) error {
	name := rel(dir)
	if err := mkdirAll(name); err != nil {
		return err
	}
	mode := uint32(0o755)
	if dir == "/tmp" || dir == "/dev/shm" {
		mode = 0o1777
	}
	if err := unix.Chmod(name, mode); err != nil {
		return stepError("chmod", dir, err)
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return stepError("clone", dir, err)
	}
	return attach(fd, dir, 0, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// overlay lays a writable layer over the read-only directory name. The directories directly below it
// are made in the layer beforehand: overlayfs would copy them up with their owner, who has no name in
// this user namespace.
func overlay(name string) error {
	const upper, work = "run/sandbox/overlay/upper", "run/sandbox/overlay/work"
	entries, err := os.ReadDir(name)
	if err != nil {
		return stepError("read", "/"+name, err)
	}
	for _, dir := range []string{upper, work} {
		if err := mkdirAll(dir); err != nil {
			return err
		}
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := unix.Mkdir(upper+"/"+entry.Name(), 0o755); err != nil {
				return stepError("mkdir", entry.Name(), err)
			}
		}
	}
	options := "lowerdir=" + name + ",upperdir=" + upper + ",workdir=" + work + ",userxattr"
	if err := unix.Mount("overlay", name, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return stepError("mount", "overlay on /"+name, err)
	}
	return nil
}

// openTrees clones the sources of pairs.
func openTrees(pairs []string) ([]int, error) {
	fds := make([]int, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		fd, err := openTree(pairs[i])
		if err != nil {
			return nil, stepError("open", pairs[i], err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// openTree returns a detached copy of the mounts at name.
func openTree(name string) (int, error) {
	return unix.OpenTree(unix.AT_FDCWD, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
}

// attach gives the detached mount fd its attributes and mounts it at target, which it makes.
func attach(fd int, target string, recursive uint, attrs uint64) error {
	defer unix.Close(fd) //nolint:errcheck // the mount stays
	name := rel(target)
	if err := attributes(fd, "", recursive|unix.AT_EMPTY_PATH, attrs); err != nil {
		return stepError("set attributes of", target, err)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(fd, "", &st, unix.AT_EMPTY_PATH); err != nil {
		return stepError("stat", target, err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := mkdirAll(name); err != nil {
			return err
		}
	} else if err := touch(name); err != nil {
		return err
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, name, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return stepError("mount", target, err)
	}
	return nil
}

// attributes sets attributes of a mount and leaves its others alone, which remounting cannot do for
// mounts that came from a more privileged namespace.
func attributes(fd int, name string, flags uint, attrs uint64) error {
	return unix.MountSetattr(fd, name, flags, &unix.MountAttr{Attr_set: attrs})
}

// touch makes an empty file to mount on.
func touch(name string) error {
	if err := mkdirAll(path.Dir(name)); err != nil {
		return err
	}
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return stepError("create", "/"+name, err)
	}
	return unix.Close(fd)
}

func symlink(target, name string) error {
	name = rel(name)
	if err := mkdirAll(path.Dir(name)); err != nil {
		return err
	}
	return stepError("link", "/"+name, unix.Symlink(target, name))
}

// mkdirAll makes name and what leads to it.
func mkdirAll(name string) error {
	err := unix.Mkdir(name, 0o755)
	if err == nil || errors.Is(err, unix.EEXIST) || name == "." {
		return nil
	}
	if !errors.Is(err, unix.ENOENT) {
		return stepError("mkdir", "/"+name, err)
	}
	if err := mkdirAll(path.Dir(name)); err != nil {
		return err
	}
	return mkdirAll(name)
}

// rel makes an absolute name relative to the new root.
func rel(name string) string { return strings.TrimPrefix(name, "/") }
