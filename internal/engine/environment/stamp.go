package environment

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stampAge is when a stamp is written anew. Those who read it take a day as the bound.
const stampAge = 12 * time.Hour

// refresh writes the present into the stamp of an environment if it has become old. It is a file of
// the content, and keeps its size.
func (s *Store) refresh(key, stamp string) {
	if stamp == "" {
		return
	}
	dir := filepath.Join(s.dir, key)
	name := filepath.Join(dir, content, filepath.FromSlash(stamp))
	text, err := os.ReadFile(name)
	if err != nil {
		return // what reads it can do without
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err == nil && time.Since(time.Unix(seconds, 0)).Abs() < stampAge {
		return
	}
	if err := replace(dir, name, strconv.FormatInt(time.Now().Unix(), 10), len(text)); err != nil {
		s.log.Warn("renew the stamp of an environment", "file", name, "error", err)
	}
}

// replace replaces a file by one with the text, padded to size with line ends, in one step.
func replace(dir, name, text string, size int) error {
	text += strings.Repeat("\n", max(0, size-len(text)))
	f, err := os.CreateTemp(dir, "stamp-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(0o444)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error says more
	}
	return err
}
