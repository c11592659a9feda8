package artifact

import (
	"archive/tar"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The PAX records of the agent's archives; they are constants of package backend as well.
const (
	recordSize = "SANDBOX.size"
	recordMore = "SANDBOX.more"
)

// maxEntries bounds the work that an archive of empty files can make.
const maxEntries = 10_000

// A file is one regular file as it was in an archive.
type file struct {
	// name is safe to show. It is empty for a figure that the program gave none.
	name string
	ext  string
	data []byte
	hash [sha256.Size]byte
	// when, process and number order the captured files; the others have only when.
	when            int64
	process, number int64
}

// captureName is how the hooks name what they capture: time in nanoseconds, process, number in the
// process, and the name the program chose if it did.
var captureName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{1,20})-(\d{1,10})-(\d{1,10})(?:-(.*))?(\.[A-Za-z]{1,5})$`)
})

// read adds the files of an archive to c.files, or says in c.omitted why not. It fails only if the
// archive cannot be read from its first byte on.
func (c *collector) read(archive io.Reader, captured bool) ([]file, error) {
	var files []file
	entries := tar.NewReader(archive)
	for n := 0; ; n++ {
		header, err := entries.Next()
		switch {
		case errors.Is(err, io.EOF):
			return files, nil
		case err != nil && n == 0:
			return nil, fmt.Errorf("artifact: read archive: %w", err)
		case err != nil:
			c.omit("", 1, "the archive of files ends early")
			return files, nil //nolint:nilerr // what came before it is good
		case n == maxEntries:
			c.omit("", 1, fmt.Sprintf("more than %d files were left", maxEntries))
			return files, nil
		}
		if more := header.PAXRecords[recordMore]; header.Typeflag == tar.TypeXGlobalHeader && more != "" {
			if count, err := strconv.Atoi(more); err == nil && count > 0 {
				c.more += min(count, 1e9)
			}
			continue
		}
		if header.Typeflag != tar.TypeReg || hidden(header.Name) {
			continue
		}
		f := newFile(header, captured)
		if strings.EqualFold(path.Base(header.Name), "Rplots.pdf") {
			continue // What R draws when nobody asked for a file; the hooks have captured it as pictures.
		}
		if !c.fits(header, f) {
			continue
		}
		f.data, err = io.ReadAll(io.LimitReader(entries, c.limits.File+1))
		if err != nil {
			c.omit(f.name, 1, "the archive of files ends early")
			return files, nil //nolint:nilerr // what came before it is good
		}
		if len(f.data) == 0 {
			c.omit(f.name, 1, "empty file")
			continue
		}
		c.total += int64(len(f.data))
		f.hash = sha256.Sum256(f.data)
		files = append(files, f)
	}
}

// fits says whether there is room for a file, and why not in c.omitted.
func (c *collector) fits(header *tar.Header, f file) bool {
	size := header.Size
	if record, ok := header.PAXRecords[recordSize]; ok {
		size, _ = strconv.ParseInt(record, 10, 64)
		size = max(size, c.limits.File+1)
	}
	switch {
	case size > c.limits.File:
		c.omit(f.name, 1, "larger than "+bytesText(c.limits.File))
	case c.total+size > c.limits.Total:
		c.omit(f.name, 1, "all files together are larger than "+bytesText(c.limits.Total))
	default:
		return true
	}
	return false
}

func newFile(header *tar.Header, captured bool) file {
	base := header.Name[strings.LastIndexAny(header.Name, `/\`)+1:]
	f := file{when: unixNano(header.ModTime)}
	if parts := captureName().FindStringSubmatch(base); captured && parts != nil {
		f.when, _ = strconv.ParseInt(parts[1], 10, 64)
		f.process, _ = strconv.ParseInt(parts[2], 10, 64)
		f.number, _ = strconv.ParseInt(parts[3], 10, 64)
		base = ""
		if parts[4] != "" {
			base = parts[4] + parts[5]
		}
		f.ext = strings.ToLower(parts[5])
	} else {
		f.ext = strings.ToLower(path.Ext(base))
	}
	if base != "" {
		f.name = safeName(base)
	}
	return f
}

// unixNano is like t.UnixNano for the times it can express, and 0 for others.
func unixNano(t time.Time) int64 {
	if t.Unix() <= 0 || t.Year() > 2200 {
		return 0
	}
	return t.UnixNano()
}

// hidden says whether a part of a name begins with a dot.
func hidden(name string) bool {
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '/' || r == '\\' }) {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." {
			return true
		}
	}
	return false
}

// inOrder merges what was captured with what was left. A file that is both counts once, in the place
// where it was captured; so does a figure that was shown and also saved as the same bytes.
func inOrder(captured, left []file) []file {
	slices.SortStableFunc(captured, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.when, b.when), cmp.Compare(a.process, b.process), cmp.Compare(a.number, b.number))
	})
	slices.SortStableFunc(left, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.when, b.when), cmp.Compare(a.name, b.name))
	})

	type content = [sha256.Size]byte
	type identity struct {
		content content
		name    string
	}
	var all []file
	seen := make(map[identity]bool)
	named := make(map[content]int)   // files with a name that no figure without one was equal to yet
	shown := make(map[content][]int) // places of figures that have no name yet
	for _, f := range slices.Concat(captured, left) {
		switch {
		case f.name == "" && named[f.hash] > 0:
			named[f.hash]--
			continue
		case f.name == "":
			shown[f.hash] = append(shown[f.hash], len(all))
		case seen[identity{f.hash, f.name}]:
			continue
		case len(shown[f.hash]) > 0:
			all[shown[f.hash][0]].name = f.name
			shown[f.hash] = shown[f.hash][1:]
			seen[identity{f.hash, f.name}] = true
			continue
		default:
			seen[identity{f.hash, f.name}] = true
			named[f.hash]++
		}
		all = append(all, f)
	}
	return all
}
