package environment_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine/environment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recipe makes an environment of one file and counts how often it is built.
func recipe(name string, size int, builds *atomic.Int64) environment.Recipe {
	return environment.Recipe{
		Key: []string{"test", name},
		Build: func(_ context.Context, unpack func(string, io.Reader) error) error {
			builds.Add(1)
			return unpack("lib", archive(file("a.txt", strings.Repeat("x", size))))
		},
	}
}

// get gets an environment and reads the file in it.
func get(t *testing.T, s *environment.Store, r environment.Recipe) *environment.Environment {
	t.Helper()
	e, err := s.Get(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(filepath.Join(e.Dir, "lib/a.txt")); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestBuiltOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var builds, waited atomic.Int64
	r := recipe("once", 10, &builds)
	r.Waiting = func() { waited.Add(1) }
	stores := []*environment.Store{ // as two processes
		environment.New(environment.Options{Dir: dir}),
		environment.New(environment.Options{Dir: dir}),
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() { get(t, stores[i%2], r).Release() })
	}
	all.Wait()
	if n := builds.Load(); n != 1 {
		t.Errorf("built %d times, want once", n)
	}
	before := waited.Load()
	if before == 0 {
		t.Error("nobody was told to wait")
	}
	get(t, environment.New(environment.Options{Dir: dir}), r).Release()
	if builds.Load() != 1 || waited.Load() != before {
		t.Errorf("a later process built or waited: %d builds, %d waits", builds.Load(), waited.Load()-before)
	}
	environments, bytes, err := stores[0].Size()
	if err != nil || environments != 1 || bytes != 10 {
		t.Errorf("Size() = %d, %d, %v, want 1, 10, nil", environments, bytes, err)
	}
}

func TestDamagedIsBuiltAgain(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(dir string) error{
		"file cut off": func(dir string) error {
			return errors.Join(os.Chmod(dir+"/lib/a.txt", 0o644), os.Truncate(dir+"/lib/a.txt", 3))
		},
		"file gone":       func(dir string) error { return os.Remove(dir + "/lib/a.txt") },
		"manifest gone":   func(dir string) error { return os.Remove(dir + "/../manifest.json") },
		"manifest broken": func(dir string) error { return os.Truncate(dir+"/../manifest.json", 5) },
		"manifest of another format": func(dir string) error {
			return os.WriteFile(dir+"/../manifest.json", []byte(`{"format":99,"files":1,"bytes":10}`), 0o600)
		},
		"file added": func(dir string) error { return os.WriteFile(dir+"/lib/b.txt", []byte("b"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var builds atomic.Int64
			r := recipe("damaged", 10, &builds)
			e := get(t, environment.New(environment.Options{Dir: dir}), r)
			e.Release()
			if err := damage(e.Dir); err != nil {
				t.Fatal(err)
			}
			e = get(t, environment.New(environment.Options{Dir: dir}), r)
			defer e.Release()
			if n := builds.Load(); n != 2 {
				t.Errorf("built %d times, want twice", n)
			}
			if text, err := os.ReadFile(e.Dir + "/lib/a.txt"); err != nil || string(text) != "xxxxxxxxxx" {
				t.Errorf("content %q, %v", text, err)
			}
		})
	}
}

func TestFailedBuild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := environment.New(environment.Options{Dir: dir})
		broken := errors.New("compiler is broken")
		builds := 0
		r := environment.Recipe{Key: []string{"bad"}, Build: func(_ context.Context, unpack func(string, io.Reader) error) error {
			builds++
			return errors.Join(unpack("lib", archive(file("half", "x"))), broken)
		}}
		for range 3 {
			if _, err := s.Get(t.Context(), r); !errors.Is(err, broken) {
				t.Fatalf("error %v, want that of the build", err)
			}
		}
		if builds != 1 {
			t.Errorf("tried %d times within a moment, want once", builds)
		}
		<-time.After(time.Hour)
		if _, err := s.Get(t.Context(), r); !errors.Is(err, broken) || builds != 2 {
			t.Errorf("after an hour: error %v, %d tries, want another try", err, builds)
		}
	})
	left, err := filepath.Glob(dir + "/tmp-*")
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestNothingOnDiskWhileBuilding holds that a server which is killed during the long part of a build
// leaves nothing but the lock.
func TestNothingOnDiskWhileBuilding(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := environment.New(environment.Options{Dir: dir})
	e, err := s.Get(t.Context(), environment.Recipe{
		Key: []string{"empty"},
		Build: func(context.Context, func(string, io.Reader) error) error {
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 || filepath.Ext(entries[0].Name()) != ".lock" {
				t.Errorf("on disk: %v, %v, want the lock", entries, err)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Release()
	if entries, err := os.ReadDir(e.Dir); err != nil || len(entries) != 0 {
		t.Errorf("the environment holds %v, %v, want nothing", entries, err)
	}
}

func TestCancelledCallerDoesNotEndTheBuild(t *testing.T) {
	t.Parallel()
	s := environment.New(environment.Options{Dir: t.TempDir()})
	began, finish := make(chan struct{}), make(chan struct{})
	r := environment.Recipe{Key: []string{"slow"}, Build: func(ctx context.Context, unpack func(string, io.Reader) error) error {
		close(began)
		<-finish
		return errors.Join(ctx.Err(), unpack("lib", archive(file("a.txt", "x"))))
	}}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := s.Get(ctx, r)
		first <- err
	}()
	<-began
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	close(finish)
	get(t, s, r).Release()
}

func TestDirectoryCannotBeMade(t *testing.T) {
	t.Parallel()
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var builds atomic.Int64
	for name, o := range map[string]environment.Options{
		"directory": {Dir: inTheWay + "/environments"},
		"parent":    {Dir: t.TempDir(), Parent: func() error { return fs.ErrPermission }},
	} {
		if _, err := environment.New(o).Get(t.Context(), recipe(name, 1, &builds)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if builds.Load() != 0 {
		t.Error("built although there is no place for it")
	}
}

func TestOldestGoesFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := environment.New(environment.Options{Dir: dir, MaxBytes: 250})
	var builds atomic.Int64
	inUse := get(t, s, recipe("in use", 100, &builds))
	old := get(t, s, recipe("old", 100, &builds))
	old.Release()
	age(t, dir)
	newer := get(t, s, recipe("newer", 100, &builds))
	newer.Release()
	for _, e := range []struct {
		name string
		*environment.Environment
		want bool
	}{{"in use", inUse, true}, {"old", old, false}, {"newer", newer, true}} {
		if _, err := os.Stat(e.Dir); (err == nil) != e.want {
			t.Errorf("environment %q is there: %v, want %v", e.name, err == nil, e.want)
		}
	}
	inUse.Release()
	get(t, s, recipe("old", 100, &builds)).Release()
	if builds.Load() != 4 {
		t.Errorf("%d builds, want 4: what was removed is built again", builds.Load())
	}
}

// age makes all uses so far a day old.
func age(t *testing.T, dir string) {
	t.Helper()
	locks, err := filepath.Glob(dir + "/*.lock")
	if err != nil || len(locks) == 0 {
		t.Fatal("no locks", err)
	}
	for _, name := range locks {
		yesterday := time.Now().AddDate(0, 0, -1)
		if err := os.Chtimes(name, yesterday, yesterday); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRemainsOfKilledServersGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var builds atomic.Int64
	s := environment.New(environment.Options{Dir: dir})
	e := get(t, s, recipe("a", 1, &builds))
	e.Release()
	key := filepath.Base(filepath.Dir(e.Dir))
	other := strings.Repeat("0", len(key))
	for _, name := range []string{"tmp-" + key + "-1", "tmp-" + other + "-2"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "content"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Dir(e.Dir)); err != nil {
		t.Fatal(err)
	}
	get(t, s, recipe("a", 1, &builds)).Release()
	left, err := filepath.Glob(dir + "/tmp-*")
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestStampIsRenewed(t *testing.T) {
	t.Parallel()
	s := environment.New(environment.Options{Dir: t.TempDir()})
	old := strconv.FormatInt(time.Now().AddDate(0, 0, -2).Unix(), 10)
	var builds atomic.Int64
	r := recipe("stamped", len(old), &builds)
	r.Stamp = "lib/a.txt"
	r.Build = func(_ context.Context, unpack func(string, io.Reader) error) error {
		builds.Add(1)
		return unpack("lib", archive(file("a.txt", old)))
	}
	began := time.Now().Unix()
	get(t, s, r).Release()
	e := get(t, s, r)
	defer e.Release()
	text, err := os.ReadFile(e.Dir + "/lib/a.txt")
	if err != nil {
		t.Fatal(err)
	}
	if seconds, err := strconv.ParseInt(string(text), 10, 64); err != nil || seconds < began {
		t.Errorf("stamp %q, %v, want the present", text, err)
	}
	if builds.Load() != 1 {
		t.Errorf("built %d times", builds.Load())
	}
}

func BenchmarkGet(b *testing.B) {
	s := environment.New(environment.Options{Dir: b.TempDir()})
	var builds atomic.Int64
	r := recipe("bench", 10, &builds)
	for b.Loop() {
		e, err := s.Get(b.Context(), r)
		if err != nil {
			b.Fatal(err)
		}
		e.Release()
	}
}
