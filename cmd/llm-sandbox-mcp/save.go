package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
)

// save writes artifacts into dir, as the program made them, and reports where they are. It overwrites
// nothing.
func save(set artifact.Set, dir string, report io.Writer) error {
	for _, o := range set.Omitted {
		if o.Name == "" {
			fmt.Fprintf(report, "llm-sandbox-mcp: left out %d: %s\n", o.Count, o.Reason)
			continue
		}
		fmt.Fprintf(report, "llm-sandbox-mcp: left out %s: %s\n", o.Name, o.Reason)
	}
	if len(set.Artifacts) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("save artifacts: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("save artifacts: %w", err)
	}
	defer root.Close() //nolint:errcheck // a directory that was only looked up in
	for _, a := range set.Artifacts {
		data := a.Data
		if a.Original != nil {
			data = a.Original
		}
		name, err := saveOne(root, a.Name, data)
		if err != nil {
			return fmt.Errorf("save artifacts: %w", err)
		}
		fmt.Fprintf(report, "llm-sandbox-mcp: saved %s\n", filepath.Join(dir, name))
	}
	return nil
}

// maxSameName is how many files of one name a directory takes.
const maxSameName = 10_000

// saveOne writes a file under its name, or under the next free one of name-2, name-3 and so on.
func saveOne(root *os.Root, name string, data []byte) (string, error) {
	ext := filepath.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	for n := 2; ; n++ {
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) && n < maxSameName {
			name = fmt.Sprintf("%s-%d%s", stem, n, ext)
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(data)
		return name, errors.Join(err, f.Close())
	}
}
