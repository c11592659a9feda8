package environment

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An entry is an environment on disk.
type entry struct {
	key   string
	bytes int64
	used  time.Time
}

// Size returns what the store takes on disk, for doctor.
func (s *Store) Size() (environments int, bytes int64, err error) {
	entries, err := s.entries()
	for _, e := range entries {
		bytes += e.bytes
	}
	return len(entries), bytes, err
}

// entries lists the environments.
func (s *Store) entries() ([]entry, error) {
	dirs, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, dir := range dirs {
		key := dir.Name()
		if !dir.IsDir() || strings.HasPrefix(key, temporary) {
			continue
		}
		// One without a manifest counts as empty, and goes when its turn comes.
		m, _, _ := readManifest(filepath.Join(s.dir, key))
		e := entry{key: key, bytes: m.Bytes}
		if info, err := os.Stat(s.lockFile(key)); err == nil {
			e.used = info.ModTime()
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// evict removes environments that are not in use until the rest has the size it may have, and what
// killed processes left. The environment keep stays.
func (s *Store) evict(keep string) {
	s.sweep(keep)
	entries, err := s.entries()
	if err != nil {
		s.log.Warn("list environments", "error", err)
	}
	var total int64
	for _, e := range entries {
		total += e.bytes
	}
	slices.SortFunc(entries, func(a, b entry) int { return a.used.Compare(b.used) })
	for _, e := range entries {
		if total <= s.maxBytes {
			return
		}
		if e.key == keep || !s.remove(e.key) {
			continue
		}
		total -= e.bytes
		s.log.Info("environment removed to make room", "dir", filepath.Join(s.dir, e.key), "bytes", e.bytes)
	}
}

// remove removes an environment unless it is in use. It goes out of its place first, so that it is
// never half there.
func (s *Store) remove(key string) bool {
	l, err := tryLock(s.lockFile(key), exclusive)
	if err != nil {
		return false
	}
	defer l.release()
	gone := filepath.Join(s.dir, temporary+key+"-removed")
	if err = os.RemoveAll(gone); err == nil {
		err = os.Rename(filepath.Join(s.dir, key), gone)
	}
	if err == nil {
		err = os.RemoveAll(gone)
	}
	if err != nil {
		s.log.Warn("remove environment", "dir", gone, "error", err)
	}
	return err == nil
}

// removeRemains removes what a killed process left of the key, whose exclusive lock is held.
func (s *Store) removeRemains(key string) error {
	remains, err := s.temporaries()
	for _, name := range remains {
		if keyOf(name) == key {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, name)))
		}
	}
	return err
}

// sweep removes what killed processes left of keys other than own, whose lock is held.
func (s *Store) sweep(own string) {
	remains, err := s.temporaries()
	for _, name := range remains {
		key := keyOf(name)
		if key == own {
			continue
		}
		l, lockErr := tryLock(s.lockFile(key), exclusive)
		if lockErr != nil {
			continue // it is being built
		}
		err = errors.Join(err, s.removeRemains(key))
		l.release()
	}
	if err != nil {
		s.log.Warn("remove what killed servers left", "error", err)
	}
}

// temporaries lists the names of what is being built, or was left.
func (s *Store) temporaries() ([]string, error) {
	dirs, err := os.ReadDir(s.dir)
	var names []string
	for _, dir := range dirs {
		if strings.HasPrefix(dir.Name(), temporary) {
			names = append(names, dir.Name())
		}
	}
	return names, err
}

// keyOf returns the key in the name of a temporary directory.
func keyOf(name string) string {
	key, _, _ := strings.Cut(strings.TrimPrefix(name, temporary), "-")
	return key
}
