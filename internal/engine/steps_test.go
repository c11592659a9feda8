package engine_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/fake"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
)

// printBoth plays a program that writes to both streams and ends with code.
func printBoth(stdout, stderr string, code int) fake.Program {
	return func(_ context.Context, c *fake.Call) backend.Exit {
		_, _ = io.WriteString(c.Stdout, stdout)
		_, _ = io.WriteString(c.Stderr, stderr)
		return backend.Exit{Code: code}
	}
}

// takes plays a program that runs for some time.
func takes(d time.Duration) fake.Program {
	return func(ctx context.Context, c *fake.Call) backend.Exit {
		_, _ = io.WriteString(c.Stdout, "started\n")
		fake.Wait(ctx, d)
		return backend.Exit{}
	}
}

func TestCompilingFails(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]fake.Program{"g++": printBoth("note\n", "error: no\n", 1), ".main": fake.Print("ran\n", 0)})
	got := s.execute(t, engine.Request{Language: "c++", Code: "int main() {", Stdin: "unread"})
	got.Usage = backend.Usage{}
	want := &engine.Response{
		Status: engine.StatusError, ExitCode: 1, Step: "compile", Stderr: "note\nerror: no\n",
		Message: "Compiling failed; the program was not run.",
		Backend: "fake", Isolation: "none", Language: "cpp",
		Unenforced: []string{"memory", "cpu", "processes", "disk", "file size"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	if n := len(s.backend.Record().Commands); n != 1 {
		t.Errorf("%d commands started, want the compiler only", n)
	}
}

func TestCompilersWriteToStderr(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]fake.Program{"g++": printBoth("note\n", "warning\n", 0), ".main": printBoth("out\n", "err\n", 0)})
	got := s.execute(t, engine.Request{Language: "cpp", Code: "int main() {}"})
	if got.Status != engine.StatusOK || got.Step != "run" || got.Stdout != "out\n" || got.Stderr != "note\nwarning\nerr\n" {
		t.Errorf("response %+v", got)
	}
}

func TestOneDeadlineForAllSteps(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name             string
		compile, run     time.Duration
		step, status     string
		message          string
		wall, runTimeout time.Duration
	}{
		{"both in time", time.Second, time.Second, "run", "ok", "", 2 * time.Second, 2 * time.Second},
		{"compiling takes it all", time.Hour, 0, "compile", "timeout", "Compiling timed out after 3 s", 3 * time.Second, 0},
		{"the program gets the rest", 2 * time.Second, time.Hour, "run", "timeout", "The program timed out after 3 s", 3 * time.Second, time.Second},
		{"nothing is left for the program", 3*time.Second - 1, time.Hour, "run", "timeout", "timed out", 3 * time.Second, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := start(t, map[string]fake.Program{"g++": takes(test.compile), ".main": takes(test.run)})
				got := s.execute(t, engine.Request{Language: "cpp", Code: "int main() {}", Timeout: 3 * time.Second})
				if got.Step != test.step || got.Status != test.status || got.Usage.Wall != test.wall {
					t.Errorf("step %q, status %q, wall %v, want %q, %q, %v", got.Step, got.Status, got.Usage.Wall, test.step, test.status, test.wall)
				}
				says(t, got.Message, test.message)
				if test.status == "timeout" && got.ExitCode != backend.CodeTimedOut {
					t.Errorf("exit code %d, want 124", got.ExitCode)
				}
				commands := s.backend.Record().Commands
				if test.runTimeout > 0 && commands[1].Timeout != test.runTimeout {
					t.Errorf("the program had %v, want %v", commands[1].Timeout, test.runTimeout)
				}
				says(t, got.Stdout+got.Stderr, "started\n") // what was printed before is kept
			})
		})
	}
}

// deaf is a backend whose sandboxes do not end programs at their timeout.
type deaf struct{ fake.Host }

func (b deaf) Create(ctx context.Context, spec backend.Spec) (backend.Sandbox, error) {
	sandbox, err := b.Host.Create(ctx, spec)
	return deafSandbox{sandbox}, err
}

type deafSandbox struct{ backend.Sandbox }

func (s deafSandbox) Start(ctx context.Context, cmd backend.Command) (backend.Process, error) {
	cmd.Timeout = 0
	return s.Sandbox.Start(ctx, cmd)
}

func TestSandboxThatDoesNotEndPrograms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scripted := fake.New(fake.Options{Programs: map[string]fake.Program{"python3": takes(time.Hour)}})
		s := start(t, nil, func(_ *fake.Options, o *engine.Options) {
			o.Open = func(context.Context) (backend.Backend, error) { return deaf{fake.Host{Backend: scripted}}, nil }
		})
		began := time.Now()
		got := s.execute(t, engine.Request{Code: "while True: pass", Timeout: 2 * time.Second})
		if got.Status != "timeout" || got.ExitCode != 124 || got.Signal != 0 || got.Stdout != "started\n" {
			t.Errorf("response %+v, want a timeout with what was printed", got)
		}
		if took := time.Since(began); took != 12*time.Second {
			t.Errorf("took %v, want the timeout and ten seconds", took)
		}
	})
}

func TestOutput(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, printed, want string
		omitted             int64
	}{
		{name: "no line end", printed: "42", want: "42"},
		{name: "bytes that are no text", printed: "ok\xff\xfe\n", want: "ok\uFFFD\uFFFD\n"},
		{name: "half a character", printed: "\xe2\x82", want: "\uFFFD\uFFFD"},
		{name: "control characters", printed: "a\r\nb\x00\x1b[31mred\x1b[0m\u2028\ufeff", want: "a\r\nb\x00\x1b[31mred\x1b[0m\u2028\ufeff"},
		{name: "as much as is kept", printed: strings.Repeat("x", 4000), want: strings.Repeat("x", 4000)},
		{name: "too much", printed: strings.Repeat("a", 3000) + strings.Repeat("b", 1234567) + strings.Repeat("c", 1000),
			want:    strings.Repeat("a", 3000) + "\n[... 1,234,567 bytes omitted ...]\n" + strings.Repeat("c", 1000),
			omitted: 1234567},
		{name: "cut between lines", printed: strings.Repeat("a", 2999) + "\n" + strings.Repeat("b", 500) + strings.Repeat("c", 1000),
			want:    strings.Repeat("a", 2999) + "\n[... 500 bytes omitted ...]\n" + strings.Repeat("c", 1000),
			omitted: 500},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := python(t, printBoth(test.printed, test.printed, 0), func(_ *fake.Options, o *engine.Options) { o.Output.Kill = 0 })
			got := s.execute(t, engine.Request{Code: "pass"})
			for name, text := range map[string]string{"stdout": got.Stdout, "stderr": got.Stderr} {
				if diff := cmp.Diff(test.want, text); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if got.StdoutOmitted != test.omitted || got.StderrOmitted != test.omitted {
				t.Errorf("omitted %d and %d, want %d", got.StdoutOmitted, got.StderrOmitted, test.omitted)
			}
		})
	}
}

func TestLiveOutput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	s := start(t, map[string]fake.Program{"g++": printBoth("note\n", "warning\n", 0), ".main": func(_ context.Context, c *fake.Call) backend.Exit {
		_, _ = io.WriteString(c.Stdout, long+"\xff")
		_, _ = io.Copy(c.Stdout, c.Stdin)
		_, _ = io.WriteString(c.Stderr, "err\n")
		return backend.Exit{}
	}})
	var stdout, stderr bytes.Buffer
	got := s.execute(t, engine.Request{
		Language: "cpp", Code: "int main() {}", Input: strings.NewReader("in"), Stdin: "not this", Stdout: &stdout, Stderr: &stderr,
	})
	if got.Stdout != "" || got.Stderr != "" {
		t.Errorf("the response repeats the output: %+v", got)
	}
	if stdout.String() != long+"\xffin" || stderr.String() != "note\nwarning\nerr\n" {
		t.Errorf("stdout %d bytes ending %q, stderr %q", stdout.Len(), stdout.String()[stdout.Len()-3:], stderr.String())
	}
}
