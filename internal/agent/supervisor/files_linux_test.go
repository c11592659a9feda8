package supervisor_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// An entry is a header and the file's text.
type entry struct {
	tar.Header
	text string
}

func file(name, text string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}, text}
}

func dir(name string) entry {
	return entry{tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}, ""}
}

func link(name, target string) entry {
	return entry{tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}, ""}
}

func archive(t testing.TB, entries ...entry) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

// tree returns the files below dir with their text, directories with "/", links with "-> target".
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		name, _ := filepath.Rel(root, p)
		switch d.Type() {
		case fs.ModeDir:
			found[name] = "/"
		case fs.ModeSymlink:
			target, _ := os.Readlink(p)
			found[name] = "-> " + target
		case 0:
			b, _ := os.ReadFile(p)
			found[name] = string(b)
		default:
			found[name] = d.Type().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCopyIn(t *testing.T) {
	s := boot(t, mode{name: asChild})
	long := strings.Repeat("n", 255)
	for name, test := range map[string]struct {
		entries []entry
		// want is what is there afterwards; kind is that of the error.
		want map[string]string
		kind error
	}{
		"files":                 {[]entry{file("a", "1"), file("b/c", "2"), dir("d/e")}, map[string]string{"a": "1", "b": "/", "b/c": "2", "d": "/", "d/e": "/"}, nil},
		"twice":                 {[]entry{file("a", "first"), file("a", "2")}, map[string]string{"a": "2"}, nil},
		"odd names":             {[]entry{file("./a", "1"), file("b/../c", "2"), file("..d", "3"), file("x\ny", "4"), file(long, "5")}, map[string]string{"a": "1", "c": "2", "..d": "3", "x\ny": "4", long: "5"}, nil},
		"links inside":          {[]entry{file("a/b", "1"), link("c/d", "../a/b"), link("e", "a")}, map[string]string{"a": "/", "a/b": "1", "c": "/", "c/d": "-> ../a/b", "e": "-> a"}, nil},
		"through a link":        {[]entry{dir("a"), link("l", "a"), file("l/f", "1")}, map[string]string{"a": "/", "a/f": "1", "l": "-> a"}, nil},
		"over a link":           {[]entry{file("a", "1"), link("l", "a"), file("l", "2")}, map[string]string{"a": "1", "l": "2"}, nil},
		"link over a file":      {[]entry{file("a", "1"), link("a", "b")}, map[string]string{"a": "-> b"}, nil},
		"parent":                {[]entry{file("../a", "1")}, map[string]string{}, backend.ErrRefused},
		"hidden parent":         {[]entry{file("a/../../b", "1")}, map[string]string{}, backend.ErrRefused},
		"absolute":              {[]entry{file("/a", "1")}, map[string]string{}, backend.ErrRefused},
		"link to parent":        {[]entry{link("l", "..")}, map[string]string{}, backend.ErrRefused},
		"absolute link":         {[]entry{link("l", "/etc")}, map[string]string{}, backend.ErrRefused},
		"detour":                {[]entry{dir("a/b"), link("a/b/c", "../.."), link("a/b/c/d", "../../x")}, map[string]string{"a": "/", "a/b": "/", "a/b/c": "-> ../..", "d": "-> ../../x"}, nil},
		"through a detour":      {[]entry{dir("a/b"), link("a/b/c", "../.."), link("a/b/c/d", "../../x"), file("d/f", "1")}, map[string]string{"a": "/", "a/b": "/", "a/b/c": "-> ../..", "d": "-> ../../x"}, backend.ErrRefused},
		"hard link":             {[]entry{file("a", "1"), {tar.Header{Typeflag: tar.TypeLink, Name: "b", Linkname: "/etc/passwd"}, ""}}, map[string]string{"a": "1"}, backend.ErrRefused},
		"device":                {[]entry{{tar.Header{Typeflag: tar.TypeChar, Name: "n", Devmajor: 1, Devminor: 3}, ""}}, map[string]string{}, backend.ErrRefused},
		"FIFO":                  {[]entry{{tar.Header{Typeflag: tar.TypeFifo, Name: "p"}, ""}}, map[string]string{}, backend.ErrRefused},
		"file over a directory": {[]entry{file("a/b", "1"), file("a", "2")}, map[string]string{"a": "/", "a/b": "1"}, backend.ErrInvalid},
		"directory over a file": {[]entry{file("a", "1"), dir("a")}, map[string]string{"a": "1"}, backend.ErrInvalid},
		"too long a name":       {[]entry{file(long+"n", "1")}, map[string]string{}, backend.ErrInvalid},
		"nothing":               {nil, map[string]string{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			target := filepath.Join(t.TempDir(), "new", "dir")
			err := s.CopyIn(t.Context(), target, archive(t, test.entries...))
			switch {
			case test.kind != nil:
				wantKind(t, err, test.kind, "copy in")
			case err != nil:
				t.Error(err)
			}
			if diff := cmp.Diff(test.want, tree(t, target)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCopyInKeepsModesAndTimesOnly(t *testing.T) {
	s := boot(t, mode{name: asChild})
	when := time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC)
	e := entry{tar.Header{
		Typeflag: tar.TypeReg, Name: "tool", Mode: 0o6755, Size: 1, Uid: 4321, Gid: 4321, ModTime: when, Format: tar.FormatPAX,
	}, "x"}
	if err := s.CopyIn(t.Context(), s.dir, archive(t, e)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(s.dir, "tool"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o755 || !info.ModTime().Equal(when) {
		t.Errorf("got mode %v, time %v", info.Mode(), info.ModTime())
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(s.dir, "tool"), &st); err != nil || st.Uid != uint32(os.Getuid()) {
		t.Errorf("got owner %d, %v", st.Uid, err)
	}
}

// What programs put in the way is replaced or refused, not followed or written to.
func TestCopyInMeetsTraps(t *testing.T) {
	s := boot(t, mode{name: asChild})
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("untouched"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := s.sh("ln -s " + outside + " away; ln -s " + victim + " file; mkfifo pipe; ln " + victim + " hard 2>/dev/null || cp " + victim + " hard"); got.Code != 0 {
		t.Fatalf("got %+v", got)
	}
	wantKind(t, s.CopyIn(t.Context(), s.dir, archive(t, file("away/new", "x"))), backend.ErrRefused, "away/new")
	if err := s.CopyIn(t.Context(), s.dir, archive(t, file("file", "1"), file("pipe", "2"), file("hard", "3"))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"victim": "untouched"}, tree(t, outside)); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"away": "-> " + outside, "file": "1", "pipe": "2", "hard": "3"}, tree(t, s.dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCopyInOfDamage(t *testing.T) {
	small := t.TempDir()
	s := boot(t, mode{name: asInit, small: []string{small}, work: small})
	whole, _ := io.ReadAll(archive(t, file("a", strings.Repeat("x", 5000))))
	wantKind(t, s.CopyIn(t.Context(), small, bytes.NewReader(whole[:2000])), backend.ErrInvalid)
	wantKind(t, s.CopyIn(t.Context(), small, strings.NewReader(strings.Repeat("garbage ", 500))), backend.ErrInvalid)
	wantKind(t, s.CopyIn(t.Context(), "relative", archive(t)), backend.ErrInvalid, "relative")
	huge := io.MultiReader(bytes.NewReader(hugeHeader(t)), endless{})
	wantKind(t, s.CopyIn(t.Context(), small, huge), backend.ErrInvalid, "no space left")
	broken := errors.New("the disk is on fire")
	if err := s.CopyIn(t.Context(), small, io.MultiReader(bytes.NewReader(whole[:600]), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("got %v, want the reader's error", err)
	}
	if got := s.sh("rm -f a huge; echo alive"); got.stdout != "alive\n" {
		t.Errorf("afterwards: got %+v", got)
	}
}

// hugeHeader announces a file of 1 TiB.
func hugeHeader(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "huge", Size: 1 << 40, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// copyOut returns the names in the archive, files with their text.
func (s *sandbox) copyOut(sel backend.Selection) (map[string]string, []*tar.Header) {
	s.t.Helper()
	r, err := s.CopyOut(s.t.Context(), sel)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	found, headers := map[string]string{}, []*tar.Header(nil)
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return found, headers
		}
		if err != nil {
			s.t.Fatal(err)
		}
		headers = append(headers, h)
		b, err := io.ReadAll(a)
		if err != nil {
			s.t.Fatal(err)
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			found["more"] = h.PAXRecords[backend.RecordMore]
		case tar.TypeSymlink:
			found[h.Name] = "-> " + h.Linkname
		default:
			found[h.Name] = string(b) + h.PAXRecords[backend.RecordSize]
		}
	}
}

func TestCopyOut(t *testing.T) {
	s := boot(t, mode{name: asChild})
	if got := s.sh(`
		echo 1 >a.txt; echo 2 >b.TXT; echo 3 >c.tar.gz; mkdir -p d/e.txt .git node_modules
		echo 4 >d/e.txt/f.txt; echo 5 >.git/g.txt; echo 6 >node_modules/h.txt; echo 7 >.hidden.txt
		ln -s /etc/passwd l.txt; ln -s d m; ln a.txt i.txt; mkfifo p.txt; printf %0100d 0 >big.txt
		printf x >"$(printf 'n\nl\377.txt')"`); got.Code != 0 {
		t.Fatalf("got %+v", got)
	}
	for name, test := range map[string]struct {
		sel  backend.Selection
		want map[string]string
	}{
		"texts": {
			backend.Selection{Extensions: []string{".txt"}, SkipHidden: true, Skip: []string{"node_modules"}, MaxFile: 50},
			map[string]string{"a.txt": "1\n", "b.TXT": "2\n", "i.txt": "1\n", "d/e.txt/f.txt": "4\n", "big.txt": "100", "n\nl\xff.txt": "x"},
		},
		"two endings": {backend.Selection{Extensions: []string{".tar.gz", ".none"}}, map[string]string{"c.tar.gz": "3\n"}},
		"the first two": {
			backend.Selection{Extensions: []string{".txt"}, SkipHidden: true, MaxFiles: 2, MaxFile: 50},
			map[string]string{"a.txt": "1\n", "b.TXT": "2\n", "more": "5"},
		},
		"nothing there": {backend.Selection{Dir: "/no/such"}, map[string]string{}},
		"everything in d": {
			backend.Selection{Dir: s.dir + "/d"}, map[string]string{"e.txt/": "", "e.txt/f.txt": "4\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.sel.Dir == "" {
				test.sel.Dir = s.dir
			}
			got, _ := s.copyOut(test.sel)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	all, headers := s.copyOut(backend.Selection{Dir: s.dir})
	if all["l.txt"] != "-> /etc/passwd" || all["m"] != "-> d" || all["p.txt"] != "" {
		t.Errorf("links and pipes: got %v", all)
	}
	if _, there := all["p.txt"]; there {
		t.Error("a FIFO was packed")
	}
	for _, h := range headers {
		info, err := os.Lstat(filepath.Join(s.dir, h.Name))
		if err != nil || !info.ModTime().Equal(h.ModTime) {
			t.Errorf("%s: got time %v, want %v, %v", h.Name, h.ModTime, info.ModTime(), err)
		}
	}
	for _, bad := range []string{s.dir + "/m", s.dir + "/a.txt", "relative"} {
		r, err := s.CopyOut(t.Context(), backend.Selection{Dir: bad})
		if err == nil {
			_, err = io.ReadAll(r)
			_ = r.Close()
		}
		wantKind(t, err, backend.ErrInvalid, bad)
	}
}

// A reader that is closed early ends the work in the sandbox, however much is left to pack.
func TestCopyOutClosedEarly(t *testing.T) {
	s := boot(t, mode{name: asChild})
	if got := s.sh("truncate -s 1T sparse"); got.Code != 0 {
		t.Fatalf("got %+v", got)
	}
	before := descriptors(s.pid)
	for range 8 {
		r, err := s.CopyOut(t.Context(), backend.Selection{Dir: s.dir})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, r, 1<<20); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "the files are closed", func() bool { return descriptors(s.pid) <= before })
}

// While programs change the tree, an archive is still whole, and holds nothing from outside.
func TestCopyOutOfAMovingTree(t *testing.T) {
	s := boot(t, mode{name: asChild})
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	stop := filepath.Join(s.dir, "stop")
	wait := s.start(t.Context(), shell(`mkdir t; while [ ! -e stop ]; do
		mkdir t/d; echo inside >t/d/secret; echo grows >>t/g; mv t/d t/x; ln -s `+outside+` t/d; : >t/g; rm -r t/d t/x; done 2>/dev/null`))
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 25 {
				got, _ := s.copyOut(backend.Selection{Dir: s.dir})
				for name, text := range got {
					if strings.Contains(text, "secret") && !strings.HasPrefix(text, "-> ") || strings.HasPrefix(name, "t/d/") && text == "secret" {
						t.Errorf("%s: %q", name, text)
					}
				}
			}
		})
	}
	readers.Wait()
	if err := os.WriteFile(stop, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wait()
}

func TestCopyOutLimitsDepth(t *testing.T) {
	s := boot(t, mode{name: asChild})
	if got := s.sh("i=0; while [ $i -lt 300 ]; do mkdir deep; cd deep; echo $i >f.txt; i=$((i+1)); done"); got.Code != 0 {
		t.Fatalf("got %+v", got)
	}
	got, _ := s.copyOut(backend.Selection{Dir: s.dir, Extensions: []string{".txt"}})
	if n := len(got); n < 100 || n > 300 {
		t.Errorf("got %d files", n)
	}
}
