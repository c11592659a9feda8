package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/fake"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// catalogued returns what the catalogue says of Python.
func catalogued(t testing.TB) lang.Details {
	t.Helper()
	l, err := lang.Builtin().Lookup("python")
	if err != nil {
		t.Fatal(err)
	}
	return l.Details
}

func TestDetailsAreThoseOfTheSandbox(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := python(t, func(ctx context.Context, c *fake.Call) backend.Exit {
		asked.Add(1)
		return fake.Print(`{"version": "3.11.2", "libraries": ["numpy"]}`+"\n", 0)(ctx, c)
	})
	want := catalogued(t)
	want.Version, want.PreinstalledLibraries = "3.11.2", []string{"numpy"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := s.Details(t.Context(), "Py")
			if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("details (-want +got):\n%s", diff)
			}
		})
	}
	all.Wait()
	if _, err := s.Details(t.Context(), "python"); err != nil || asked.Load() != 1 {
		t.Errorf("asked %d times, %v, want once", asked.Load(), err)
	}
}

func TestDetailsOfTheCatalogue(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		program fake.Program
		change  func(*fake.Options, *engine.Options)
		logged  string
	}{
		{"no backend", nil, failAt(fake.StepCreate, backend.Wrap(backend.ErrUnavailable, errors.New("no namespaces"))), "no namespaces"},
		{"no answer", fake.Print("hello\n", 0), nil, "invalid character"},
		{"empty answer", fake.Print("{}\n", 0), nil, "no version"},
		{"failure", printBoth("", "Traceback\nKeyError\n", 1), nil, "KeyError"},
		{"no end", takes(time.Hour), nil, "timed out after 20 s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				change := func(f *fake.Options, o *engine.Options) {
					if test.change != nil {
						test.change(f, o)
					}
				}
				s := python(t, test.program, change)
				for range 2 {
					got, err := s.Details(t.Context(), "python")
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(catalogued(t), got); diff != "" {
						t.Errorf("details (-want +got):\n%s", diff)
					}
				}
				says(t, s.log.String(), test.logged)
				tries := len(s.backend.Record().Specs)
				if tries > 1 {
					t.Errorf("tried %d times within a minute", tries)
				}
				<-time.After(2 * time.Minute)
				if _, err := s.Details(t.Context(), "python"); err != nil {
					t.Error(err)
				}
				if again := len(s.backend.Record().Specs); test.program != nil && again != tries+1 {
					t.Errorf("tried %d times after two minutes, want once more", again)
				}
			})
		})
	}
}

func TestDetailsErrors(t *testing.T) {
	t.Parallel()
	s := python(t, takes(time.Hour))
	if _, err := s.Details(t.Context(), "cobol"); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("error %v, want ErrInvalid", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Details(ctx, "python"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}
