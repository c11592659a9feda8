package environment_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine/environment"
)

// An item is an entry of an archive.
type item struct {
	tar.Header
	body string
}

func file(name, body string) item {
	return item{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(body))}, body}
}

func symlink(name, target string) item {
	return item{tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}, ""}
}

func archive(items ...item) io.Reader {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, i := range items {
		if err := w.WriteHeader(&i.Header); err != nil {
			panic(err)
		}
		if _, err := io.WriteString(w, i.body); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return &b
}

// unpacked returns the environment that an archive makes.
func unpacked(t testing.TB, dir string, future bool, packed io.Reader) (*environment.Environment, error) {
	t.Helper()
	return environment.New(environment.Options{Dir: dir}).Get(t.Context(), environment.Recipe{
		Key:        []string{"archive"},
		FutureTime: future,
		Build: func(_ context.Context, unpack func(string, io.Reader) error) error {
			return unpack("lib", packed)
		},
	})
}

func TestUnpackedIsReadOnlyForAll(t *testing.T) {
	t.Parallel()
	setuid := file("bin/tool", "#!")
	setuid.Mode = 0o4711
	setuid.Uid, setuid.Uname = 4711, "nobody"
	e, err := unpacked(t, t.TempDir(), false, archive(
		file("deep/er/data", "data"), setuid,
		symlink("deep/up", "../bin/tool"), symlink("tool", "bin/tool"),
		item{tar.Header{Typeflag: tar.TypeDir, Name: "empty/", Mode: 0o700}, ""},
	))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Release()
	for name, want := range map[string]fs.FileMode{
		".":                fs.ModeDir | 0o755,
		"lib":              fs.ModeDir | 0o755,
		"lib/deep/er":      fs.ModeDir | 0o755,
		"lib/empty":        fs.ModeDir | 0o755,
		"lib/deep/er/data": 0o444,
		"lib/bin/tool":     0o555,
		"lib/deep/up":      0o555, // through the link
		"lib/tool":         0o555,
	} {
		info, err := os.Stat(filepath.Join(e.Dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	old := file("old", "x")
	old.ModTime = time.Unix(1e9, 0)
	weird := file("weird", "x")
	weird.ModTime = time.Unix(-5, 0)
	for _, test := range []struct {
		name   string
		future bool
		want   map[string]int64
	}{
		{"kept", false, map[string]int64{"old": 1e9, "weird": 0}},
		{"future", true, map[string]int64{"old": 2145830400, "weird": 2145830400}},
	} {
		e, err := unpacked(t, t.TempDir(), test.future, archive(old, weird))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range test.want {
			info, err := os.Stat(filepath.Join(e.Dir, "lib", name))
			if err != nil {
				t.Fatal(err)
			}
			if got := info.ModTime().Unix(); got != want {
				t.Errorf("%s: %s has time %d, want %d", test.name, name, got, want)
			}
		}
		e.Release()
	}
}

func TestHostileArchives(t *testing.T) {
	t.Parallel()
	more := item{tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{backend.RecordMore: "3"}}, ""}
	cut := file("big", "")
	cut.PAXRecords = map[string]string{backend.RecordSize: "1000000"}
	for name, packed := range map[string]io.Reader{
		"name goes up":                 archive(file("../escape", "x")),
		"name goes up later":           archive(file("a/../../escape", "x")),
		"absolute name":                archive(file("/escape", "x")),
		"link goes up":                 archive(symlink("l", "../../escape")),
		"link is absolute":             archive(symlink("l", "/etc/passwd")),
		"link is empty":                archive(item{tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: ""}, ""}),
		"link through a link":          archive(symlink("a/b/s", "../../top"), symlink("t", "a/b/s/../../escape")),
		"file through a link":          archive(symlink("d", "e"), file("d/escape", "x")),
		"file over a link":             archive(symlink("l", "e"), file("l", "x")),
		"the same file twice":          archive(file("a", "x"), file("a", "y")),
		"file as a directory":          archive(file("a", "x"), file("a/b", "y")),
		"hard link":                    archive(item{tar.Header{Typeflag: tar.TypeLink, Name: "h", Linkname: "/etc/passwd"}, ""}),
		"device":                       archive(item{tar.Header{Typeflag: tar.TypeChar, Name: "null", Devmajor: 1, Devminor: 3}, ""}),
		"pipe":                         archive(item{tar.Header{Typeflag: tar.TypeFifo, Name: "p"}, ""}),
		"name longer than a path":      archive(file(strings.Repeat("d/", 3000)+"f", "x")),
		"a gigabyte of holes":          sparse(),
		"files left out":               archive(file("a", "x"), more),
		"file cut":                     archive(cut),
		"not an archive":               strings.NewReader(strings.Repeat("garbage ", 200)),
		"ends early":                   io.LimitReader(archive(file("a", strings.Repeat("x", 5000))), 2000),
		"a terabyte that is not there": header(tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 1 << 40, Format: tar.FormatGNU}),
		"a size that overflows":        header(tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 1<<63 - 1, Format: tar.FormatGNU}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			dir := filepath.Join(parent, "store")
			if e, err := unpacked(t, dir, false, packed); err == nil {
				e.Release()
				t.Error("accepted")
			}
			onlyTheStore(t, parent)
		})
	}
}

// header is the beginning of an archive whose first file has no content.
func header(h tar.Header) io.Reader {
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(&h); err != nil {
		panic(err)
	}
	return &b
}

// sparse is an archive of 2 KB with a file of a gigabyte in it, as GNU tar writes it.
func sparse() io.Reader {
	packed, err := io.ReadAll(archive(
		file("extended header", "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"+
			"34 GNU.sparse.realsize=1073741824\n25 GNU.sparse.name=holes\n"),
		file("holes", "1\n1073741823\n1\n"+strings.Repeat("\x00", 512-15)+"x"),
	))
	if err != nil {
		panic(err)
	}
	const kind, checksum = 156, 148 // where they are in a header
	packed[kind] += tar.TypeXHeader - tar.TypeReg
	sum, err := strconv.ParseInt(string(packed[checksum:checksum+6]), 8, 32)
	if err != nil {
		panic(err)
	}
	copy(packed[checksum:], fmt.Sprintf("%06o", sum+tar.TypeXHeader-tar.TypeReg))
	return bytes.NewReader(packed)
}

// onlyTheStore fails the test if anything lies beside the store, or if an unfinished environment is
// left in it.
func onlyTheStore(t *testing.T, parent string) {
	t.Helper()
	beside, err := os.ReadDir(parent)
	if err != nil || len(beside) > 1 {
		t.Errorf("beside the store: %v, %v", beside, err)
	}
	left, err := filepath.Glob(filepath.Join(parent, "store", "tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the store: %v, %v", left, err)
	}
}

// FuzzUnpack holds that no archive writes anywhere but into its environment, and that all links in
// it stay there.
func FuzzUnpack(f *testing.F) {
	for _, seed := range []io.Reader{
		archive(file("a", "x"), file("b/c", "y"), symlink("b/d", "../a"), symlink("e", "b/c")),
		archive(symlink("a/b/s", "../../top"), symlink("t", "a/b/s/../../x")),
		archive(file("../x", "x")),
	} {
		b, err := io.ReadAll(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		parent := t.TempDir()
		e, err := unpacked(t, filepath.Join(parent, "store"), false, bytes.NewReader(packed))
		onlyTheStore(t, parent)
		if err != nil {
			return
		}
		defer e.Release()
		root, err := os.OpenRoot(filepath.Join(e.Dir, "lib"))
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type() == fs.ModeSymlink {
				_, err := root.Stat(name) // os.Root refuses links that leave it
				if err != nil && strings.Contains(err.Error(), "escapes") {
					t.Errorf("link %q escapes", name)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
