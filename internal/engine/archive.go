package engine

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// archive packs files for CopyIn.
func archive(files []lang.File) ([]byte, error) {
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
	return packed.Bytes(), nil
}

// hooks are the artifact hooks of one language: what goes into the hook directory, and the environment
// that makes programs load it.
type hooks struct {
	archive []byte
	env     []string
}

// hooksOf packs the hooks of a language, which are the same in every call.
func (e *Engine) hooksOf(language string) (hooks, error) {
	if h, ok := e.hooks.Load(language); ok {
		return h.(hooks), nil
	}
	contents, env := artifact.Hooks(language)
	h := hooks{env: env}
	if len(contents) > 0 {
		var files []lang.File
		for _, name := range slices.Sorted(maps.Keys(contents)) {
			files = append(files, lang.File{Name: name, Data: contents[name]})
		}
		var err error
		if h.archive, err = archive(files); err != nil {
			return hooks{}, err
		}
	}
	e.hooks.Store(language, h)
	return h, nil
}
