package engine

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// archive packs files for CopyIn.
func archive(files []lang.File) (io.Reader, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: int64(len(f.Data)), Mode: 0o644}
		if f.Executable {
			header.Mode = 0o755
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("engine: pack %s: %w", f.Name, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("engine: pack %s: %w", f.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("engine: pack files: %w", err)
	}
	return &packed, nil
}

// hookFiles turns hooks into files in a fixed order.
func hookFiles(hooks map[string][]byte) []lang.File {
	var files []lang.File
	for _, name := range slices.Sorted(maps.Keys(hooks)) {
		files = append(files, lang.File{Name: name, Data: hooks[name]})
	}
	return files
}
