package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Close kills every process of the group, waits until they are gone and removes the group. It may be
// called more than once. If ctx ends before that, the error says what is left.
func (g *Group) Close(ctx context.Context) error {
	if g.fd >= 0 {
		_ = unix.Close(g.fd) // a path descriptor has nothing to lose
		g.fd = -1
	}
	var dirs []string
	for _, h := range g.hierarchies {
		dirs = append(dirs, h.dir)
	}
	return remove(ctx, dirs)
}

// RemoveTree kills everything in the trees of an owner, in all hierarchies, and removes them. Any
// process with the right permissions can do it; that the owner is gone is for the caller to know.
func RemoveTree(ctx context.Context, owner string) error {
	if err := checkOwner(owner); err != nil {
		return err
	}
	var dirs []string
	err := walk(ctx, func(dir string) {
		if filepath.Base(dir) == prefix+owner {
			dirs = append(dirs, dir)
		}
	})
	return errors.Join(err, remove(ctx, dirs))
}

// Sweep does what RemoveTree does for all owners that are gone, and removes leaves that servers have
// left. Trees from other pid namespaces are left alone, for their owners may live there.
func Sweep(ctx context.Context) error {
	namespace, err := pidNamespace()
	if err != nil {
		return fmt.Errorf("cgroup: sweep: %w", err)
	}
	var dirs []string
	err = walk(ctx, func(dir string) {
		owner, isTree := strings.CutPrefix(filepath.Base(dir), prefix)
		switch {
		case isTree && dead(owner, namespace):
			dirs = append(dirs, dir)
		case filepath.Base(dir) == leaf:
			_ = unix.Rmdir(dir) // fails as long as there is a process in it
		}
	})
	return errors.Join(err, remove(ctx, dirs))
}

// walk visits all groups that this process sees, but not what is inside of trees: a server may have been
// started in another group than this process.
func walk(ctx context.Context, visit func(dir string)) error {
	mounts, _, err := readMounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		err := filepath.WalkDir(m.point, func(path string, entry fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil || !entry.IsDir() {
				return nil //nolint:nilerr // groups come and go, and some are not for our eyes
			}
			visit(path)
			if strings.HasPrefix(entry.Name(), prefix) {
				return filepath.SkipDir
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("cgroup: find trees: %w", err)
		}
	}
	return nil
}

// Removal is tried again after waits that grow from the first to the last.
const (
	firstWait = 200 * time.Microsecond
	lastWait  = 20 * time.Millisecond
)

// remove kills everything in some groups and in those below them, and removes them.
func remove(ctx context.Context, dirs []string) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		var errs []error
		left := dirs[:0:0]
		for _, dir := range dirs {
			if err := removeOne(dir); err != nil {
				errs = append(errs, err)
				left = append(left, dir)
			}
		}
		if len(left) == 0 {
			return nil
		}
		dirs = left
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return fmt.Errorf("cgroup: remove groups: %w", errors.Join(append(errs, ctx.Err())...))
		case <-timer.C:
		}
	}
}

// removeOne tries once. It is cheap if nothing runs in the group any more.
func removeOne(dir string) error {
	err := unix.Rmdir(dir)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err := killAll(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if entry.IsDir() {
			errs = append(errs, removeOne(filepath.Join(dir, entry.Name())))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "rmdir", Path: dir, Err: err}
	}
	return nil
}

// killAll kills the processes of one group. On v2 since Linux 5.14 the kernel does it at once, groups
// below included; otherwise the group is frozen while it is read, so that nothing escapes by forking.
func killAll(dir string) error {
	err := write(dir, "cgroup.kill", "1")
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	pids, err := processes(dir)
	if err != nil || len(pids) == 0 {
		return err
	}
	_ = freeze(dir, true) // without a freezer, the caller's next pass gets the rest
	pids, err = processes(dir)
	for _, pid := range pids {
		if pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
	}
	return errors.Join(err, freeze(dir, false))
}

// freeze stops or continues the processes of one group, if its hierarchy can.
func freeze(dir string, on bool) error {
	v2, v1 := "0", "THAWED"
	if on {
		v2, v1 = "1", "FROZEN"
	}
	err := write(dir, "cgroup.freeze", v2)
	if errors.Is(err, os.ErrNotExist) {
		err = write(dir, "freezer.state", v1)
	}
	return present(err)
}

// present forgets that a file does not exist on this kernel.
func present(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
