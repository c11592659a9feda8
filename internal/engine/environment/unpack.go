package environment

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Bounds of one environment. Go's standard library has about 2,000 files in its build cache; a Python
// environment with everything for machine learning has about 100,000 and some gigabytes.
const (
	maxFiles = 500_000
	maxBytes = 16 << 30
	maxName  = 4096 // bytes, as in a path of Linux
)

// future is the time that files get on demand. It fits into 32 bits.
var future = time.Date(2037, 12, 31, 0, 0, 0, 0, time.UTC)

// An unpacker writes archives from sandboxes into a new directory. It trusts nothing in them: names and
// links that leave the directory, devices, and too much of anything are errors. Owners, special bits
// and write permissions are not taken over.
type unpacker struct {
	root         *os.Root
	future       bool
	files, bytes int64
	dirs         map[string]bool // that are there
}

func newUnpacker(dir string, future bool) (*unpacker, error) {
	u := &unpacker{future: future, dirs: map[string]bool{".": true}}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // programs of another user read it
		return nil, err
	}
	var err error
	if u.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	return u, nil
}

// close may be called twice.
func (u *unpacker) close() error { return u.root.Close() }

// unpack unpacks an archive into the directory dir of the environment.
func (u *unpacker) unpack(dir string, archive io.Reader) error {
	if !filepath.IsLocal(dir) {
		return fmt.Errorf("unpack into %q: not a local directory", dir)
	}
	if err := u.mkdir(path.Clean(dir)); err != nil {
		return err
	}
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		if err := u.entry(dir, header, r); err != nil {
			return fmt.Errorf("unpack %q: %w", header.Name, err)
		}
	}
}

func (u *unpacker) entry(dir string, header *tar.Header, body io.Reader) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		if more := header.PAXRecords[backend.RecordMore]; more != "" {
			return fmt.Errorf("%s files are missing from the archive", more)
		}
		return nil
	}
	if _, cut := header.PAXRecords[backend.RecordSize]; cut {
		return errors.New("the file is missing from the archive")
	}
	name := path.Clean(header.Name)
	switch {
	case !filepath.IsLocal(name):
		return errors.New("the name leaves the directory")
	case len(name) > maxName:
		return errors.New("the name is too long")
	case u.files == maxFiles:
		return fmt.Errorf("more than %d files", int64(maxFiles))
	}
	name = path.Join(dir, name)
	switch header.Typeflag {
	case tar.TypeDir:
		return u.mkdir(name)
	case tar.TypeReg:
		u.files++
		return u.file(name, header, body)
	case tar.TypeSymlink:
		u.files++
		return u.link(name, header.Linkname, dir)
	default:
		return fmt.Errorf("type %q is neither a file, a directory nor a symbolic link", header.Typeflag)
	}
}

// mkdir makes a directory and those that lead to it.
func (u *unpacker) mkdir(name string) error {
	if u.dirs[name] {
		return nil
	}
	if len(u.dirs) > maxFiles {
		return fmt.Errorf("more than %d directories", int64(maxFiles))
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	err := u.root.Mkdir(name, 0o755)
	if err == nil {
		err = u.root.Chmod(name, 0o755) // whatever the umask
	}
	if err == nil {
		u.dirs[name] = true
	}
	return err
}

func (u *unpacker) file(name string, header *tar.Header, body io.Reader) error {
	for record := range header.PAXRecords {
		if strings.HasPrefix(record, "GNU.sparse.") {
			return errors.New("a file with holes can be larger than the whole archive")
		}
	}
	if u.bytes += header.Size; header.Size > maxBytes || u.bytes > maxBytes {
		return fmt.Errorf("more than %d bytes in all", int64(maxBytes))
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o444)
	if header.FileInfo().Mode()&0o111 != 0 {
		mode = 0o555
	}
	_, err = io.Copy(f, body)
	if err := errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	// Compiled Python files hold the time of their source.
	modified := header.ModTime
	if u.future {
		modified = future
	}
	if unix := modified.Unix(); unix < 0 || unix > math.MaxInt32 {
		modified = time.Unix(0, 0)
	}
	return u.root.Chtimes(name, modified, modified)
}

// link makes a symbolic link that stays in the directory dir that the archive is unpacked into. Beyond
// the steps up at its beginning, a target has none: where such a step leads depends on other links.
func (u *unpacker) link(name, target, dir string) error {
	at, err := filepath.Rel(dir, path.Dir(name))
	if err != nil {
		return err
	}
	down := target
	for at != "." && strings.HasPrefix(down, "../") {
		at, down = path.Dir(filepath.ToSlash(at)), down[len("../"):]
	}
	if !filepath.IsLocal(down) || slices.Contains(strings.Split(down, "/"), "..") || len(target) > maxName {
		return fmt.Errorf("the link to %q leaves the directory", target)
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	return u.root.Symlink(target, name)
}
