package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/fake"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A setup is an engine over a scripted backend.
type setup struct {
	*engine.Engine
	backend *fake.Backend
	log     *buffer
}

// start makes a setup on which programs play the programs of that name. It is closed with the test,
// which fails if anything is left.
func start(t testing.TB, programs map[string]fake.Program, change ...func(*fake.Options, *engine.Options)) setup {
	t.Helper()
	scripted := fake.Options{Programs: programs}
	options := engine.Options{
		Catalog: lang.Builtin(),
		Limits:  backend.Limits{Memory: 256 << 20, MilliCPUs: 1500, Processes: 64, Disk: 1 << 30, FileSize: 1 << 30},
		Output:  backend.OutputLimit{Head: 3000, Tail: 1000, Kill: 1 << 20},
	}
	for _, f := range change {
		f(&scripted, &options)
	}
	s := setup{backend: fake.New(scripted), log: &buffer{}}
	if options.Open == nil {
		options.Open = func(context.Context) (backend.Backend, error) { return fake.Host{Backend: s.backend}, nil }
	}
	options.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	s.Engine = engine.New(options)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if r := s.backend.Record(); r.Open != 0 || r.Running != 0 {
			t.Errorf("left behind: %d sandboxes, %d programs", r.Open, r.Running)
		}
	})
	return s
}

// python makes a setup on which Python is that program.
func python(t testing.TB, program fake.Program, change ...func(*fake.Options, *engine.Options)) setup {
	t.Helper()
	return start(t, map[string]fake.Program{"python3": program}, change...)
}

func (s setup) execute(t testing.TB, req engine.Request) *engine.Response {
	t.Helper()
	response, err := s.Execute(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// says fails the test if the text lacks a part.
func says(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}

func TestExecute(t *testing.T) {
	t.Parallel()
	var seen *fake.Call
	s := python(t, func(_ context.Context, c *fake.Call) backend.Exit {
		seen = c
		var in bytes.Buffer
		if _, err := in.ReadFrom(c.Stdin); err != nil {
			return backend.Exit{Code: 1}
		}
		_, _ = c.Stdout.Write(in.Bytes())
		_, _ = c.Stderr.Write([]byte("warning\n"))
		return backend.Exit{Code: 3, Usage: backend.Usage{CPU: time.Second, PeakMemory: 1 << 20}}
	}, func(f *fake.Options, _ *engine.Options) {
		f.Capabilities = backend.Capabilities{Isolation: "namespace", Memory: true, CPU: true, FileSize: true}
	})
	got := s.execute(t, engine.Request{Language: " PY ", Code: "print('ä')", Stdin: "to the program", Timeout: time.Minute, Artifacts: true})
	got.Usage.Wall = 0
	want := &engine.Response{
		Status: engine.StatusError, ExitCode: 3, Step: "run",
		Stdout: "to the program", Stderr: "warning\n",
		Usage:   backend.Usage{CPU: time.Second, PeakMemory: 1 << 20},
		Backend: "fake", Isolation: "namespace", Unenforced: []string{"processes", "disk"},
		Language: "python",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}

	code, err := seen.Files.Read(backend.DefaultWorkDir + "/main.py")
	if err != nil || string(code) != "print('ä')" {
		t.Errorf("code in the sandbox is %q, %v", code, err)
	}
	if _, err := seen.Files.Read(backend.HookDir + "/python/sitecustomize.py"); err != nil {
		t.Errorf("hooks: %v", err)
	}
	env := "\n" + strings.Join(seen.Env, "\n") + "\n"
	says(t, env, "\nHOME=/home/sandbox\n", "\nPYTHONPATH=/run/sandbox/hooks/python\n", "\nOMP_NUM_THREADS=2\n")
	record := s.backend.Record()
	wantSpec := backend.Spec{
		Runtime: "python", WorkDir: backend.DefaultWorkDir,
		Limits: backend.Limits{Memory: 256 << 20, MilliCPUs: 1500, Processes: 64, Disk: 1 << 30, FileSize: 1 << 30},
	}
	if diff := cmp.Diff([]backend.Spec{wantSpec}, record.Specs); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if got := record.Commands[0]; got.Args[0] != "/usr/bin/python3" || got.Timeout != time.Minute || got.Dir != backend.DefaultWorkDir {
		t.Errorf("command %+v", got)
	}
}

func TestWithoutArtifactsThereAreNoHooks(t *testing.T) {
	t.Parallel()
	s := python(t, fake.Print("1\n", 0))
	got := s.execute(t, engine.Request{Code: "print(1)"})
	if got.Status != engine.StatusOK || got.Stdout != "1\n" || got.Message != "" {
		t.Errorf("response %+v", got)
	}
	record := s.backend.Record()
	if diff := cmp.Diff([]string{backend.DefaultWorkDir}, record.CopiedIn); diff != "" {
		t.Errorf("directories copied in (-want +got):\n%s", diff)
	}
	if len(record.CopiedOut) != 0 {
		t.Errorf("copied out %v", record.CopiedOut)
	}
	if env := strings.Join(record.Commands[0].Env, "\n"); strings.Contains(env, "PYTHONPATH") {
		t.Errorf("environment %s", env)
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	scripted := fake.New(fake.Options{
		Programs:     map[string]fake.Program{"python3": fake.Print("1\n", 0)},
		Capabilities: backend.Capabilities{Images: true, HostNetwork: true},
	})
	s := start(t, nil, func(_ *fake.Options, o *engine.Options) {
		o.Network = backend.NetworkHost
		o.Open = func(context.Context) (backend.Backend, error) { return scripted, nil } // sees no runtimes of the host
	})
	s.execute(t, engine.Request{Code: "print(1)"})
	spec := scripted.Record().Specs[0]
	if !strings.HasPrefix(spec.Image, "python:") || spec.Runtime != "" || spec.Network != backend.NetworkHost {
		t.Errorf("spec %+v, want the image of Python", spec)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	s := python(t, func(_ context.Context, c *fake.Call) backend.Exit {
		code, _ := c.Files.Read(backend.DefaultWorkDir + "/main.py")
		_, _ = c.Stdout.Write(code)
		return backend.Exit{}
	})
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			code := strings.Repeat("#", i)
			response, err := s.Execute(t.Context(), engine.Request{Code: code})
			if err != nil || response.Stdout != code {
				t.Errorf("call %d: %+v, %v", i, response, err)
			}
		})
	}
	all.Wait()
}

func BenchmarkExecute(b *testing.B) {
	s := python(b, fake.Print("1\n", 0))
	for b.Loop() {
		s.execute(b, engine.Request{Code: "print(1)", Artifacts: true})
	}
}
