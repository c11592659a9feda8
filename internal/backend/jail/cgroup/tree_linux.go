package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A Tree holds the groups of one server: a directory in each hierarchy.
type Tree struct {
	hierarchies []hierarchy // dir is the tree's own
	into        bool
}

// Open makes the tree of a server, named by [Owner]. Without any hierarchy to use the tree is empty,
// its groups do nothing, and Controllers has said so.
func (m *Manager) Open(owner string) (*Tree, error) {
	if err := checkOwner(owner); err != nil {
		return nil, err
	}
	t := &Tree{into: m.into}
	for _, h := range m.hierarchies {
		h.dir = filepath.Join(h.dir, prefix+owner)
		if err := os.Mkdir(h.dir, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("cgroup: make tree: %w", err), t.Close())
		}
		t.hierarchies = append(t.hierarchies, h)
		switch {
		case h.v2:
			enable(h.dir)
		case h.memory:
			// Kernels before 5.11 count children into their parent only when told to; later ones refuse.
			_ = write(h.dir, "memory.use_hierarchy", "1")
		}
	}
	return t, nil
}

// Close removes the tree. Its groups must be closed before.
func (t *Tree) Close() error {
	var errs []error
	for _, h := range t.hierarchies {
		if err := unix.Rmdir(h.dir); err != nil && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("cgroup: remove tree: %w", &os.PathError{Op: "rmdir", Path: h.dir, Err: err}))
		}
	}
	return errors.Join(errs...)
}

// New makes the group of one sandbox and sets those of its limits that have a controller. id is made
// of letters, digits, dashes and underscores.
func (t *Tree) New(id string, limits backend.Limits) (*Group, error) {
	if !isName(id) {
		return nil, backend.Wrap(backend.ErrInvalid, fmt.Errorf("cgroup: make group %q: use letters, digits, - and _", id))
	}
	g := &Group{fd: -1}
	for _, h := range t.hierarchies {
		h.dir = filepath.Join(h.dir, id)
		err := os.Mkdir(h.dir, 0o700)
		if err == nil {
			g.hierarchies = append(g.hierarchies, h)
			err = h.limit(limits)
		}
		if err == nil && h.v2 && t.into {
			g.fd, err = unix.Open(h.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cgroup: make group: %w", err), g.Close(context.Background()))
		}
	}
	return g, nil
}
