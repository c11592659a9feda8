package engine_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/fake"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine/environment"
)

// toolchain plays the go command: asked for the standard library it fills a build cache.
func toolchain(std *atomic.Int64, exit int) map[string]fake.Program {
	return map[string]fake.Program{
		"go": func(_ context.Context, c *fake.Call) backend.Exit {
			if !slices.Contains(c.Args, "std") {
				return backend.Exit{}
			}
			std.Add(1)
			c.Files.Write(c.Path("gocache/ab/abcd-d"), []byte("object"))
			_, _ = c.Stderr.Write([]byte("could not build\n"))
			return backend.Exit{Code: exit}
		},
		".main": fake.Print("hello\n", 0),
	}
}

// cached keeps environments in dir and lets sandboxes have them.
func cached(dir string) func(*fake.Options, *engine.Options) {
	return func(f *fake.Options, o *engine.Options) {
		f.Capabilities.Prefix = true
		o.Environments = environment.New(environment.Options{Dir: dir})
	}
}

var hello = engine.Request{Language: "go", Code: "package main\n\nfunc main() { println(1) }\n"}

func TestBaseIsBuiltOnce(t *testing.T) {
	t.Parallel()
	var std atomic.Int64
	dir := t.TempDir()
	s := start(t, toolchain(&std, 0), cached(dir))
	var calls sync.WaitGroup
	var reports events
	for range 4 {
		calls.Go(func() {
			req := hello
			req.Progress = reports.add
			if got := s.execute(t, req); got.Stdout != "hello\n" {
				t.Errorf("response %+v", got)
			}
		})
	}
	calls.Wait()
	s.execute(t, hello)
	if n := std.Load(); n != 1 {
		t.Errorf("built %d times, want once", n)
	}
	if !slices.ContainsFunc(reports.list(), func(m string) bool { return m[:9] == "preparing" }) {
		t.Errorf("events %q do not say what takes so long", reports.list())
	}

	specs := s.backend.Record().Specs
	if first := specs[0]; first.Prefix != "" || first.Limits.Memory < 1<<30 {
		t.Errorf("the build has %+v, want no prefix and memory for a compiler", first)
	}
	last := specs[len(specs)-1]
	if last.Scratch != backend.PrefixDir+"/gocache" || last.Limits.Memory != 256<<20 {
		t.Errorf("the call has %+v", last)
	}
	if data, err := os.ReadFile(filepath.Join(last.Prefix, "gocache/ab/abcd-d")); err != nil || string(data) != "object" {
		t.Errorf("in the prefix: %q, %v", data, err)
	}
	commands := s.backend.Record().Commands
	if env := commands[len(commands)-1].Env; !slices.Contains(env, "GOCACHE=/opt/sandbox/gocache") {
		t.Errorf("environment %q", env)
	}

	again := start(t, toolchain(&std, 0), cached(dir)) // the server was started again
	again.execute(t, hello)
	if _, err := again.Details(t.Context(), "go"); err != nil {
		t.Error(err)
	}
	if specs := again.backend.Record().Specs; specs[1].Prefix != last.Prefix {
		t.Errorf("details were asked for with %+v, want the same prefix", specs[1])
	}
	if n := std.Load(); n != 1 {
		t.Errorf("a second server built it again: %d", n)
	}
}

func TestProgramsRunWithoutBase(t *testing.T) {
	t.Parallel()
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		exit   int
		change func(*fake.Options, *engine.Options)
		builds int64
		logged string
	}{
		{"the build fails", 2, cached(t.TempDir()), 1, "could not build"},
		{"there is no place for it", 0, cached(inTheWay), 0, "not a directory"},
		{"the backend has no prefixes", 0, func(f *fake.Options, o *engine.Options) {
			cached(t.TempDir())(f, o)
			f.Capabilities.Prefix = false
		}, 0, ""},
		{"no store", 0, func(f *fake.Options, _ *engine.Options) { f.Capabilities.Prefix = true }, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var std atomic.Int64
			s := start(t, toolchain(&std, test.exit), test.change)
			for range 2 {
				if got := s.execute(t, hello); got.Status != engine.StatusOK || got.Stdout != "hello\n" {
					t.Errorf("response %+v", got)
				}
			}
			if n := std.Load(); n != test.builds {
				t.Errorf("tried to build %d times, want %d", n, test.builds)
			}
			says(t, s.log.String(), test.logged)
			specs := s.backend.Record().Specs
			if last := specs[len(specs)-1]; last.Prefix != "" || last.Scratch != "" {
				t.Errorf("spec %+v, want no prefix", last)
			}
		})
	}
}

func TestDetailsBuildNoBase(t *testing.T) {
	t.Parallel()
	var std atomic.Int64
	s := start(t, toolchain(&std, 0), cached(t.TempDir()))
	if _, err := s.Details(t.Context(), "go"); err != nil {
		t.Error(err)
	}
	if n := std.Load(); n != 0 {
		t.Errorf("built %d times for a description", n)
	}
}

// TestBaseIsGivenBack holds that environments are not kept in use by calls that have ended.
func TestBaseIsGivenBack(t *testing.T) {
	t.Parallel()
	var std atomic.Int64
	store := environment.New(environment.Options{Dir: t.TempDir(), MaxBytes: 1})
	create := errors.New("no more namespaces")
	var fail atomic.Bool
	s := start(t, toolchain(&std, 0), func(f *fake.Options, o *engine.Options) {
		f.Capabilities.Prefix = true
		o.Environments = store
		f.Fault = func(_ context.Context, at fake.Step) error {
			if at == fake.StepCreate && fail.Load() {
				return create
			}
			return nil
		}
	})
	s.execute(t, hello)
	fail.Store(true)
	if _, err := s.Execute(t.Context(), hello); !errors.Is(err, create) {
		t.Errorf("error %v, want %v", err, create)
	}
	bad := hello
	bad.Code += "-- ../x.go --\n"
	if _, err := s.Execute(t.Context(), bad); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("error %v, want ErrInvalid", err)
	}
	if err := s.Close(t.Context()); err != nil { // and so is the first call's
		t.Error(err)
	}
	// Another environment takes the place of one that nobody uses.
	other, err := store.Get(t.Context(), environment.Recipe{
		Key:   []string{"other"},
		Build: func(context.Context, func(string, io.Reader) error) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	if n, _, err := store.Size(); n != 1 || err != nil {
		t.Errorf("%d environments, %v, want the new one alone", n, err)
	}
}
