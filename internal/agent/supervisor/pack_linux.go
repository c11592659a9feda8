package supervisor

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// maxDepth is how many directories deep pack looks. Each holds a descriptor while it is read.
const maxDepth = 128

// pack writes what sel selects as an archive. Programs may change the files meanwhile, so nothing is
// believed that was not read from an open descriptor, and no link is followed. It ends early when
// closed is.
func pack(sel backend.Selection, w io.Writer, closed <-chan struct{}) error {
	if !path.IsAbs(sel.Dir) {
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("copy out: directory %s: not an absolute path", sel.Dir))
	}
	buffered := bufio.NewWriterSize(w, agent.MaxData)
	p := &packer{sel: sel, archive: tar.NewWriter(buffered), closed: closed}
	fd, err := openDir(unix.AT_FDCWD, sel.Dir)
	if err == nil {
		err = p.directory(fd, "", 0)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EACCES):
		return backend.Wrap(backend.ErrInvalid, fmt.Errorf("copy out: directory %s: %w", sel.Dir, err))
	case err != nil:
		return fmt.Errorf("copy out: %s: %w", sel.Dir, err)
	}
	if p.more > 0 {
		if err := p.archive.WriteHeader(&tar.Header{
			Typeflag: tar.TypeXGlobalHeader, Name: "more",
			PAXRecords: map[string]string{backend.RecordMore: strconv.Itoa(p.more)},
		}); err != nil {
			return fmt.Errorf("copy out: %s: %w", sel.Dir, err)
		}
	}
	return errors.Join(p.archive.Close(), buffered.Flush())
}

// errClosed: nobody reads the archive any more.
var errClosed = errors.New("the reader was closed")

type packer struct {
	sel     backend.Selection
	archive *tar.Writer
	files   int // taken
	more    int // left out because of MaxFiles
	closed  <-chan struct{}
}

// openDir opens a directory, but not through a link.
func openDir(parent int, name string) (int, error) {
	return unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// directory packs what is in the directory fd, which it closes. Errors are those of the archive; what
// cannot be read is left out.
func (p *packer) directory(fd int, prefix string, depth int) error {
	dir := os.NewFile(uintptr(fd), prefix)
	defer dir.Close() //nolint:errcheck // read only
	names, _ := dir.Readdirnames(-1)
	slices.Sort(names)
	for _, name := range names {
		select {
		case <-p.closed:
			return errClosed
		default:
		}
		if p.sel.SkipHidden && strings.HasPrefix(name, ".") {
			continue
		}
		var st unix.Stat_t
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		if err := p.entry(fd, name, prefix+name, &st, depth); err != nil {
			return err
		}
	}
	return nil
}

func (p *packer) entry(parent int, name, full string, st *unix.Stat_t, depth int) error {
	everything := len(p.sel.Extensions) == 0
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if slices.Contains(p.sel.Skip, name) || depth == maxDepth {
			return nil
		}
		if everything {
			if err := p.archive.WriteHeader(header(full+"/", tar.TypeDir, st)); err != nil {
				return err
			}
		}
		fd, err := openDir(parent, name)
		if err != nil {
			return nil //nolint:nilerr // unreadable, or gone
		}
		return p.directory(fd, full+"/", depth+1)
	case unix.S_IFREG:
		if !everything && !p.hasExtension(name) {
			return nil
		}
		return p.file(parent, name, full)
	case unix.S_IFLNK:
		if !everything {
			return nil
		}
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(parent, name, target)
		if err != nil {
			return nil //nolint:nilerr // gone
		}
		h := header(full, tar.TypeSymlink, st)
		h.Linkname = string(target[:n])
		return p.archive.WriteHeader(h)
	default: // devices, FIFOs and sockets are nothing that could be handed over
		return nil
	}
}

func (p *packer) hasExtension(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc(p.sel.Extensions, func(e string) bool { return strings.HasSuffix(lower, e) })
}

// file packs a regular file.
func (p *packer) file(parent int, name, full string) error {
	if p.sel.MaxFiles > 0 && p.files >= p.sel.MaxFiles {
		p.more++
		return nil
	}
	// Between the look and this, it may have become a FIFO, on which opening would wait.
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // unreadable, or gone
	}
	f := os.NewFile(uintptr(fd), full)
	defer f.Close() //nolint:errcheck // read only
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil // not what it was
	}
	p.files++
	h := header(full, tar.TypeReg, &st)
	if p.sel.MaxFile > 0 && st.Size > p.sel.MaxFile {
		h.PAXRecords = map[string]string{backend.RecordSize: strconv.FormatInt(st.Size, 10)}
		return p.archive.WriteHeader(h)
	}
	h.Size = st.Size
	if err := p.archive.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(p.archive, io.LimitReader(f, st.Size))
	if _, failed := errors.AsType[syscall.Errno](err); err != nil && !failed {
		return err
	}
	// The file shrank, or could not be read to its end. The header has promised its size.
	_, err = io.CopyN(p.archive, zeros{}, st.Size-n)
	return err
}

// zeros is endless.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func header(name string, typ byte, st *unix.Stat_t) *tar.Header {
	return &tar.Header{
		Typeflag: typ, Name: name, Mode: int64(st.Mode & 0o777),
		ModTime: fileTime(st), Format: tar.FormatPAX,
	}
}

func fileTime(st *unix.Stat_t) time.Time { return time.Unix(st.Mtim.Unix()) }
