package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/fake"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
)

// failAt makes the backend fail at one step.
func failAt(step fake.Step, err error) func(*fake.Options, *engine.Options) {
	return func(f *fake.Options, _ *engine.Options) {
		f.Fault = func(_ context.Context, at fake.Step) error {
			if at == step {
				return err
			}
			return nil
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, step := range []fake.Step{fake.StepLocate, fake.StepCreate, fake.StepCopyIn, fake.StepStart, fake.StepWait} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			fault := backend.Wrap(backend.ErrUnavailable, fmt.Errorf("fake: %s: broken; repair it", step))
			s := python(t, fake.Print("1\n", 0), failAt(step, fault))
			response, err := s.Execute(t.Context(), engine.Request{Code: "print(1)", Artifacts: true})
			if response != nil || !errors.Is(err, backend.ErrUnavailable) || err.Error() != fault.Error() {
				t.Errorf("Execute = %+v, %v, want the fault", response, err)
			}
		})
	}
}

func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		req  engine.Request
		says string
	}{
		{"language", engine.Request{Language: "pyhton"}, "did you mean python"},
		{"library", engine.Request{Code: "1", Libraries: []string{"numpy; rm -rf /"}}, "numpy; rm -rf /"},
		{"option as library", engine.Request{Code: "1", Libraries: []string{"numpy", "--index-url=http://x"}}, "options are not accepted"},
		{"timeout", engine.Request{Code: "1", Timeout: -time.Second}, "negative"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := python(t, fake.Print("", 0), func(_ *fake.Options, o *engine.Options) {
				o.Open = func(context.Context) (backend.Backend, error) {
					t.Error("the backend was opened")
					return nil, errors.New("no")
				}
			})
			_, err := s.Execute(t.Context(), test.req)
			if !errors.Is(err, backend.ErrInvalid) {
				t.Fatalf("error %v, want ErrInvalid", err)
			}
			says(t, err.Error(), test.says)
		})
	}
}

func TestPlanRefusesCode(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	_, err := s.Execute(t.Context(), engine.Request{Language: "go", Code: "-- ../x.go --\npackage main\n"})
	if !errors.Is(err, backend.ErrInvalid) || len(s.backend.Record().Specs) != 0 {
		t.Errorf("error %v, want ErrInvalid before there is a sandbox", err)
	}
}

func TestBackendIsOpenedAgainAfterItFailed(t *testing.T) {
	t.Parallel()
	down := backend.Wrap(backend.ErrUnavailable, errors.New("docker: not running; start it"))
	var opened atomic.Int64
	s := python(t, fake.Print("1\n", 0), func(f *fake.Options, o *engine.Options) {
		works := fake.Host{Backend: fake.New(*f)}
		o.Open = func(context.Context) (backend.Backend, error) {
			if opened.Add(1) == 1 {
				return works, down // what comes with an error does not count
			}
			return works, nil
		}
	})
	if _, err := s.Execute(t.Context(), engine.Request{Code: "1"}); !errors.Is(err, down) {
		t.Errorf("error %v, want %v", err, down)
	}
	for range 2 {
		s.execute(t, engine.Request{Code: "1"})
	}
	if n := opened.Load(); n != 2 {
		t.Errorf("opened %d times, want twice", n)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := python(t, takes(time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		began := time.Now()
		response, err := s.Execute(ctx, engine.Request{Code: "while True: pass", Timeout: time.Minute, Artifacts: true})
		if response != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("Execute = %+v, %v, want context.Canceled", response, err)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("ended %v after the start, want within a second of the cancel", took)
		}
		synctest.Wait()
		if r := s.backend.Record(); r.Open != 0 || len(r.CopiedOut) != 0 {
			t.Errorf("%d sandboxes open, %d archives copied out, want none", r.Open, len(r.CopiedOut))
		}
	})
}

func TestCloseKillsWhatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := python(t, takes(time.Hour))
		ended := make(chan error)
		go func() {
			_, err := s.Execute(t.Context(), engine.Request{Code: "while True: pass", Timeout: time.Minute})
			ended <- err
		}()
		synctest.Wait()
		if n := s.backend.Record().Running; n != 1 {
			t.Fatalf("%d programs run, want 1", n)
		}
		closed := make(chan error)
		go func() { closed <- s.Close(t.Context()) }()
		if err := <-ended; !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("the call ended with %v, want ErrUnavailable", err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if _, err := s.Execute(t.Context(), engine.Request{Code: "1"}); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("a later call: %v, want ErrUnavailable", err)
		}
	})
}

func TestResponseDoesNotWaitForRemoval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow = 3 * time.Second
		s := python(t, fake.Print("1\n", 0), func(f *fake.Options, _ *engine.Options) {
			f.Fault = func(ctx context.Context, at fake.Step) error {
				if at == fake.StepClose {
					fake.Wait(ctx, slow)
				}
				return nil
			}
		})
		began := time.Now()
		s.execute(t, engine.Request{Code: "print(1)"})
		if took := time.Since(began); took != 0 {
			t.Errorf("the call took %v", took)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != slow {
			t.Errorf("Close returned after %v, want to wait for the removal", took)
		}
		if n := s.backend.Record().Open; n != 0 {
			t.Errorf("%d sandboxes left", n)
		}
	})
}

// TestRemovalsDoNotPileUp holds that calls cannot make sandboxes faster than they are removed.
func TestRemovalsDoNotPileUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := python(t, fake.Print("1\n", 0), func(f *fake.Options, _ *engine.Options) {
			f.Fault = func(ctx context.Context, at fake.Step) error {
				if at == fake.StepClose {
					fake.Wait(ctx, time.Second)
				}
				return nil
			}
		})
		for range 100 { // one after the other, in no time
			s.execute(t, engine.Request{Code: "print(1)"})
		}
		if most := s.backend.Record().MostOpen; most > 17 {
			t.Errorf("%d sandboxes at once, want at most 16 that are being removed and one that runs", most)
		}
	})
}

func TestRemovalFails(t *testing.T) {
	t.Parallel()
	var failed atomic.Bool
	s := python(t, fake.Print("1\n", 0), func(f *fake.Options, _ *engine.Options) {
		f.Fault = func(_ context.Context, at fake.Step) error {
			if at == fake.StepClose && failed.CompareAndSwap(false, true) {
				return errors.New("device busy")
			}
			return nil
		}
	})
	if got := s.execute(t, engine.Request{Code: "print(1)"}); got.Status != engine.StatusOK {
		t.Errorf("response %+v", got)
	}
	if err := s.Close(t.Context()); err != nil { // the backend gets what was left
		t.Error(err)
	}
	says(t, s.log.String(), "remove sandbox", "device busy")
}

func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := python(t, fake.Print("1\n", 0), func(f *fake.Options, _ *engine.Options) {
			f.Fault = func(_ context.Context, at fake.Step) error {
				if at == fake.StepClose {
					<-release
				}
				return nil
			}
		})
		s.execute(t, engine.Request{Code: "print(1)"})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		time.AfterFunc(6*time.Second, func() { close(release) })
		err := s.Close(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want that of the deadline", err)
		}
	})
}
