package fake

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Files is a tree of files in memory. Its methods may be called concurrently.
type Files struct {
	mu    sync.Mutex
	nodes map[string]node
}

// A node is a directory (dir), a symbolic link (link) or a file.
type node struct {
	dir  bool
	link string
	mode fs.FileMode
	data []byte
}

func newFiles(dirs ...string) *Files {
	f := &Files{nodes: map[string]node{}}
	for _, dir := range dirs {
		f.mkdir(dir)
	}
	return f
}

// Write makes a file of mode 0644, and the directories that lead to it.
func (f *Files) Write(name string, data []byte) { f.write(name, data, 0o644) }

// Read returns what is in a file. A missing one gives an error that wraps fs.ErrNotExist.
func (f *Files) Read(name string) ([]byte, error) {
	data, _, err := f.read(name)
	return data, err
}

// Names returns the absolute names of everything in the tree, sorted.
func (f *Files) Names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.nodes))
}

func (f *Files) write(name string, data []byte, mode fs.FileMode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name = path.Clean(name)
	f.mkdir(path.Dir(name))
	f.nodes[name] = node{mode: mode.Perm(), data: bytes.Clone(data)}
}

func (f *Files) read(name string) ([]byte, fs.FileMode, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name = path.Clean(name)
	for range 8 { // links that follow one another; a loop ends here
		n, ok := f.nodes[name]
		if ok && n.link != "" {
			name = path.Join(path.Dir(name), n.link)
			continue
		}
		if !ok || n.dir {
			break
		}
		return bytes.Clone(n.data), n.mode, nil
	}
	return nil, 0, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
}

func (f *Files) isDir(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[path.Clean(name)].dir
}

// mkdir is called with the lock held, or before the tree is shared.
func (f *Files) mkdir(dir string) {
	for dir = path.Clean(dir); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if _, ok := f.nodes[dir]; !ok {
			f.nodes[dir] = node{dir: true, mode: 0o755}
		}
	}
}

// unpack is CopyIn.
func (f *Files) unpack(dir string, archive io.Reader) error {
	f.mu.Lock()
	f.mkdir(dir)
	f.mu.Unlock()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return backend.Wrap(backend.ErrInvalid, fmt.Errorf("fake: copy in %s: %w", dir, err))
		}
		if err := f.unpackOne(dir, h, r); err != nil {
			return err
		}
	}
}

func (f *Files) unpackOne(dir string, h *tar.Header, body io.Reader) error {
	refuse := func(why string) error {
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("fake: copy in %s: %q %s; leave it out of the archive", dir, h.Name, why))
	}
	name := path.Clean(h.Name)
	if !local(name) {
		return refuse("leaves the directory")
	}
	target := path.Join(dir, name)
	switch h.Typeflag {
	case tar.TypeReg:
		data, err := io.ReadAll(body)
		if err != nil {
			return backend.Wrap(backend.ErrInvalid, fmt.Errorf("fake: copy in %s: %q: %w", dir, h.Name, err))
		}
		if f.throughLink(dir, name) {
			return refuse("goes through a link")
		}
		f.write(target, data, h.FileInfo().Mode())
	case tar.TypeDir:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.mkdir(target)
	case tar.TypeSymlink:
		if path.IsAbs(h.Linkname) || !local(path.Join(path.Dir(name), h.Linkname)) {
			return refuse("points out of the directory")
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.mkdir(path.Dir(target))
		f.nodes[target] = node{link: h.Linkname, mode: 0o777}
	default:
		return refuse("is not a file, a directory or a symbolic link")
	}
	return nil
}

// throughLink reports whether a parent of name, below dir, is a link.
func (f *Files) throughLink(dir, name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
		if f.nodes[path.Join(dir, parent)].link != "" {
			return true
		}
	}
	return false
}

func local(name string) bool {
	return !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name, "../")
}

// pack is CopyOut.
func (f *Files) pack(sel backend.Selection) (io.ReadCloser, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	taken, more := 0, 0
	for _, name := range f.Names() {
		below, ok := strings.CutPrefix(name, path.Clean(sel.Dir)+"/")
		if !ok || skipped(below, sel) {
			continue
		}
		f.mu.Lock()
		n := f.nodes[name]
		f.mu.Unlock()
		if len(sel.Extensions) > 0 && (n.dir || n.link != "" || !slices.Contains(sel.Extensions, strings.ToLower(path.Ext(below)))) {
			continue
		}
		file := !n.dir && n.link == ""
		if file && sel.MaxFiles > 0 && taken == sel.MaxFiles {
			more++
			continue
		}
		if file {
			taken++
		}
		if err := packOne(w, below, n, sel.MaxFile); err != nil {
			return nil, fmt.Errorf("fake: copy out %s: %w", sel.Dir, err)
		}
	}
	if more > 0 {
		h := &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{backend.RecordMore: strconv.Itoa(more)}}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("fake: copy out %s: %w", sel.Dir, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("fake: copy out %s: %w", sel.Dir, err)
	}
	return io.NopCloser(&archive), nil
}

func skipped(below string, sel backend.Selection) bool {
	parts := strings.Split(below, "/")
	for i, part := range parts {
		if sel.SkipHidden && strings.HasPrefix(part, ".") {
			return true
		}
		if i < len(parts)-1 && slices.Contains(sel.Skip, part) {
			return true
		}
	}
	return false
}

func packOne(w *tar.Writer, name string, n node, maxFile int64) error {
	h := &tar.Header{Format: tar.FormatPAX, Name: name, Mode: int64(n.mode)}
	switch {
	case n.dir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case n.link != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, n.link
	case maxFile > 0 && int64(len(n.data)) > maxFile:
		h.Typeflag = tar.TypeReg
		h.PAXRecords = map[string]string{backend.RecordSize: strconv.Itoa(len(n.data))}
	default:
		h.Typeflag, h.Size = tar.TypeReg, int64(len(n.data))
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	if h.Size == 0 {
		return nil
	}
	_, err := w.Write(n.data)
	return err
}
