package supervisor

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// unpack puts the archive below dir. Nothing in it is trusted: os.Root keeps every name below dir, also
// through links that programs have put there.
func unpack(dir string, archive io.Reader) error {
	if !path.IsAbs(dir) {
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("copy in: directory %s: not an absolute path", dir))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return copyError("copy in: directory "+dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return copyError("copy in: directory "+dir, err)
	}
	defer root.Close() //nolint:errcheck // read only
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, archive) // what follows the archive's end mark
			return err
		}
		if err != nil {
			return backend.Wrap(backend.ErrInvalid, fmt.Errorf("copy in: read archive: %w", err))
		}
		if err := unpackEntry(root, header, r); err != nil {
			return copyError(fmt.Sprintf("copy in: %q", header.Name), err)
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, data io.Reader) error {
	name, err := entryName(header.Name)
	if err != nil {
		return err
	}
	mode := fs.FileMode(header.Mode).Perm() //nolint:gosec // only the nine bits
	switch header.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
		return root.Chmod(name, mode|0o700)
	case tar.TypeReg:
		return unpackFile(root, name, mode, header, data)
	case tar.TypeSymlink:
		return unpackLink(root, name, header.Linkname)
	default:
		return backend.Wrap(backend.ErrRefused, fmt.Errorf("type %q: only files, directories and symbolic links are taken", header.Typeflag))
	}
}

// entryName refuses names that are not below the directory.
func entryName(name string) (string, error) {
	clean := path.Clean(name)
	if name == "" || path.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsRune(name, 0) {
		return "", backend.Wrap(backend.ErrRefused, errors.New("the name leads out of the directory"))
	}
	return clean, nil
}

func unpackFile(root *os.Root, name string, mode fs.FileMode, header *tar.Header, data io.Reader) error {
	file, err := create(root, name, mode|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, data)
	if info, statErr := file.Stat(); statErr == nil && info.Mode().Perm() != mode {
		err = errors.Join(err, file.Chmod(mode)) // the umask took something away
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if header.ModTime.Unix() == 0 {
		return nil // the archive does not say
	}
	return root.Chtimes(name, header.ModTime, header.ModTime)
}

// create makes a new file, and the directories that lead to it. A file, link, device or FIFO that stands
// in the way is replaced, not written through.
func create(root *os.Root, name string, mode fs.FileMode) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	file, err := root.OpenFile(name, flags, mode)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = root.MkdirAll(path.Dir(name), 0o755)
	case errors.Is(err, fs.ErrExist):
		info, statErr := root.Lstat(name)
		if statErr != nil || info.IsDir() {
			return nil, err
		}
		err = root.Remove(name)
	default:
		return file, err
	}
	if err != nil {
		return nil, err
	}
	return root.OpenFile(name, flags, mode)
}

// unpackLink makes a link that does not point out of the directory.
func unpackLink(root *os.Root, name, target string) error {
	if _, err := entryName(path.Join(path.Dir(name), target)); err != nil || path.IsAbs(target) || target == "" {
		return backend.Wrap(backend.ErrRefused, fmt.Errorf("the link points out of the directory, to %q", target))
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if info, err := root.Lstat(name); err == nil && !info.IsDir() {
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	return root.Symlink(target, name)
}

// copyError gives an error of the file system its kind: with what is in the sandbox already, the
// archive cannot be unpacked.
func copyError(what string, err error) error {
	kind := backend.ErrInvalid
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		err = fmt.Errorf("%w; raise SANDBOX_DISK_LIMIT", err)
	case strings.Contains(err.Error(), "escapes"): // os.Root has no error value for it
		kind = backend.ErrRefused
	}
	return backend.Wrap(kind, fmt.Errorf("%s: %w", what, err))
}
