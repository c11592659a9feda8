package environment

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	manifestFile = "manifest.json"
	// format changes when older environments cannot be used any more.
	format = 1
)

// A manifest says what a whole environment has. It is written last.
type manifest struct {
	Format int      `json:"format"`
	Key    []string `json:"key"`
	// Files counts files and links, Bytes is the size of the files.
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

func (m manifest) write(dir string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, manifestFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	// What a power failure takes of the other files shows when their sizes are added up.
	return errors.Join(err, f.Sync(), f.Close())
}

func readManifest(dir string) (m manifest, written time.Time, err error) {
	name := filepath.Join(dir, manifestFile)
	info, err := os.Lstat(name)
	if err != nil {
		return m, written, err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return m, written, err
	}
	return m, info.ModTime(), json.Unmarshal(text, &m)
}

// whole reports whether an environment is there with all its files. Each is looked through once.
func (s *Store) whole(key string) bool {
	dir := filepath.Join(s.dir, key)
	m, written, err := readManifest(dir)
	if err != nil || m.Format != format {
		return false
	}
	s.mu.Lock()
	known := s.sound[key]
	s.mu.Unlock()
	if known.Equal(written) {
		return true
	}
	var files, bytes int64
	err = filepath.WalkDir(filepath.Join(dir, content), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		if d.Type().IsRegular() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			bytes += info.Size()
		}
		return nil
	})
	if err != nil || files != m.Files || bytes != m.Bytes {
		s.log.Warn("environment is damaged and will be built again", "dir", dir,
			"files", files, "bytes", bytes, "want_files", m.Files, "want_bytes", m.Bytes, "error", err)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sound[key] = written
	return true
}
