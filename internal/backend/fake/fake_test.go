package fake_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/fake"
)

func run(t *testing.T, b backend.Backend, cmd backend.Command) (backend.Exit, string) {
	t.Helper()
	s, err := b.Create(t.Context(), backend.Spec{})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	var out strings.Builder
	cmd.Stdout = &out
	p, err := s.Start(t.Context(), cmd)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	return exit, out.String()
}

func TestScriptedProgram(t *testing.T) {
	t.Parallel()
	b := fake.New(fake.Options{Programs: map[string]fake.Program{
		"python3": func(_ context.Context, c *fake.Call) backend.Exit {
			c.Files.Write(c.Path("plot.png"), []byte("picture"))
			_, _ = c.Stdout.Write([]byte(strings.Join(c.Args, "|")))
			return backend.Exit{Outcome: backend.OutOfMemory, Code: 137, Reached: []string{"memory"}}
		},
	}})
	exit, out := run(t, b, backend.Command{Args: []string{"/usr/bin/python3", "main.py"}, Env: []string{"A=1"}})
	if exit.Outcome != backend.OutOfMemory || exit.Code != 137 || out != "/usr/bin/python3|main.py" {
		t.Errorf("got %+v, %q", exit, out)
	}
	want := []backend.Command{{Args: []string{"/usr/bin/python3", "main.py"}, Env: []string{"A=1"}, Dir: backend.DefaultWorkDir}}
	if diff := cmp.Diff(want, b.Record().Commands); diff != "" {
		t.Errorf("recorded commands (-want +got):\n%s", diff)
	}
}

func TestTimeTakesNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := fake.New(fake.Options{})
		began := time.Now()
		exit, _ := run(t, b, backend.Command{Args: []string{"sleep", "3600"}, Timeout: time.Minute})
		if exit.Outcome != backend.TimedOut || exit.Code != backend.CodeTimedOut || exit.Usage.Wall != time.Minute {
			t.Errorf("got %+v", exit)
		}
		if d := time.Since(began); d != time.Minute {
			t.Errorf("took %v of the bubble's time", d)
		}
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, failing := range []fake.Step{
		fake.StepProbe, fake.StepLocate, fake.StepCreate, fake.StepCopyIn, fake.StepStart, fake.StepWait, fake.StepCopyOut, fake.StepClose,
	} {
		t.Run(string(failing), func(t *testing.T) {
			t.Parallel()
			broken := errors.New("broken")
			h := fake.Host{Backend: fake.New(fake.Options{Fault: func(_ context.Context, step fake.Step) error {
				if step == failing {
					return broken
				}
				return nil
			}})}
			got := map[fake.Step]error{fake.StepProbe: h.Probe(t.Context())}
			_, got[fake.StepLocate] = h.Locate(t.Context(), backend.Need{Programs: [][]string{{"python3"}}})
			s, err := h.Create(t.Context(), backend.Spec{})
			got[fake.StepCreate] = err
			if err == nil {
				got[fake.StepCopyIn] = s.CopyIn(t.Context(), "/tmp", strings.NewReader(""))
				p, err := s.Start(t.Context(), backend.Command{Args: []string{"true"}})
				got[fake.StepStart] = err
				if err == nil {
					_, got[fake.StepWait] = p.Wait()
				}
				_, got[fake.StepCopyOut] = s.CopyOut(t.Context(), backend.Selection{Dir: "/tmp"})
				got[fake.StepClose] = s.Close(t.Context())
			}
			for step, err := range got {
				if want := step == failing; errors.Is(err, broken) != want {
					t.Errorf("%s: got %v", step, err)
				}
			}
		})
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	b := fake.New(fake.Options{})
	var sandboxes []backend.Sandbox
	for range 3 {
		s, err := b.Create(t.Context(), backend.Spec{WorkDir: "/work"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Start(t.Context(), backend.Command{Args: []string{"sleep", "3600"}}); err != nil {
			t.Fatal(err)
		}
		sandboxes = append(sandboxes, s)
	}
	if err := sandboxes[0].Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := b.Record()
	if r.Open != 2 || r.MostOpen != 3 || r.Running != 2 || r.MostRunning != 3 || len(r.Specs) != 3 || r.Specs[0].WorkDir != "/work" {
		t.Errorf("got %+v", r)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := b.Record(); r.Open != 0 || r.Running != 0 {
		t.Errorf("after Close: %+v", r)
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	h := fake.Host{Backend: fake.New(fake.Options{}), Missing: []string{"node", "ruby"}}
	got, err := h.Locate(t.Context(), backend.Need{Language: "javascript", Programs: [][]string{{"node", "nodejs"}}})
	if err != nil || got.Programs["node"] != "/usr/bin/nodejs" {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = h.Locate(t.Context(), backend.Need{Language: "ruby", Programs: [][]string{{"ruby"}}, Package: map[string]string{"debian": "ruby"}})
	if !errors.Is(err, backend.ErrUnavailable) || !strings.HasSuffix(err.Error(), "install ruby") {
		t.Errorf("got %v", err)
	}
}
