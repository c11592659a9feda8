package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/native"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// onNative makes an engine on the real sandbox. Where that is not possible the test is skipped, or fails
// if SANDBOX_TEST_REQUIRE names native.
func onNative(t testing.TB, limits backend.Limits) (*engine.Engine, *buffer) {
	t.Helper()
	log := &buffer{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	finder := jail.NewFinder(jail.FinderOptions{Path: os.Getenv("PATH")})
	b := native.New(native.Options{Logger: logger, Finder: finder})
	if err := b.Probe(t.Context()); err != nil {
		_ = b.Close(context.Background())
		if slices.Contains(strings.Split(os.Getenv("SANDBOX_TEST_REQUIRE"), ","), native.Name) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	e := engine.New(engine.Options{
		Catalog: lang.Builtin(),
		Open:    func(context.Context) (backend.Backend, error) { return b, nil },
		Limits:  limits,
		Output:  backend.OutputLimit{Head: 100_000, Tail: 10_000, Kill: 10 << 20},
		Logger:  logger,
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e, log
}

// installed skips the test if the host lacks a language.
func installed(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestNativeRunsPrograms(t *testing.T) {
	t.Parallel()
	e, _ := onNative(t, backend.Limits{Memory: 512 << 20, Processes: 128})
	for _, test := range []struct {
		name   string
		req    engine.Request
		status string
		code   int
		stdout string
		says   string
	}{
		{"stdin", engine.Request{Code: "print(input()[::-1])", Stdin: "äbc\n"}, "ok", 0, "cbä\n", ""},
		{"timeout of a second", engine.Request{Code: "print('quick')", Timeout: time.Second}, "ok", 0, "quick\n", ""},
		{"traceback", engine.Request{Code: "print(1)\n1/0"}, "error", 1, "1\n", ""},
		{"timeout", engine.Request{Code: "print('before', flush=True)\nwhile True: pass", Timeout: time.Second}, "timeout", 124, "before\n", "timed out after 1 s"},
		{"own signal", engine.Request{Code: "import os\nos.kill(os.getpid(), 9)"}, "error", 137, "", "signal 9"},
		{"memory", engine.Request{Code: "b = bytearray(1 << 30)\nfor i in range(0, len(b), 4096): b[i] = 1"}, "memory_limit", 137, "", "limit of 512 MiB"},
		{"too much output", engine.Request{Code: "while True: print('x' * 100000)"}, "output_limit", 137, "", "more than 10 MiB"},
		{"compiler", engine.Request{Language: "cpp", Code: "int main() { return 3; }"}, "error", 3, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := e.Execute(t.Context(), test.req)
			installed(t, err)
			if test.name == "memory" && slices.Contains(got.Unenforced, "memory") {
				t.Skip("no control group for memory")
			}
			if got.Status != test.status || got.ExitCode != test.code || test.stdout != "" && got.Stdout != test.stdout {
				t.Errorf("%+v, want status %q, code %d, stdout %q", got, test.status, test.code, test.stdout)
			}
			says(t, got.Message, test.says)
		})
	}
}

func TestNativeKeepsArtifactsOfATimeout(t *testing.T) {
	t.Parallel()
	e, _ := onNative(t, backend.Limits{})
	got, err := e.Execute(t.Context(), engine.Request{
		Code:      "open('a.csv', 'w').write('1,2')\nopen('.hidden.csv', 'w').write('1')\nwhile True: pass",
		Timeout:   time.Second,
		Artifacts: true,
	})
	installed(t, err)
	if list := names(got.Artifacts); got.Status != "timeout" || !slices.Equal(list, []string{"a.csv text/csv"}) {
		t.Errorf("status %q, artifacts %q", got.Status, list)
	}
}

func TestNativeDetails(t *testing.T) {
	t.Parallel()
	e, log := onNative(t, backend.Limits{})
	for _, name := range []string{"python", "javascript", "cpp", "ruby", "r"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := e.Details(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if text := log.String(); strings.Contains(text, "describe language") && !strings.Contains(text, "not installed") {
				t.Errorf("asking failed: %s", text)
			}
			t.Logf("%s: %q", d.Version, d.PreinstalledLibraries)
		})
	}
}

func TestNativeLibraries(t *testing.T) {
	t.Parallel()
	e, _ := onNative(t, backend.Limits{})
	for _, test := range []struct {
		language, code string
		present        []string
		missing        string
	}{
		{"python", "print('ran')", []string{"json", "sqlite3"}, "no-such-package==0.0.0"},
		{"javascript", "console.log('ran')", []string{"fs", "path"}, "@no/such@^1.2.3"},
		{"ruby", "puts 'ran'", []string{"json", "set"}, "no-such-gem:1.0"},
		{"r", "cat('ran\\n')", []string{"stats", "utils"}, "nosuchpackage"},
		{"cpp", "#include <cstdio>\nint main() { puts(\"ran\"); }", nil, "no-such-dev"},
	} {
		t.Run(test.language, func(t *testing.T) {
			t.Parallel()
			req := engine.Request{Language: test.language, Code: test.code, Libraries: test.present}
			got, err := e.Execute(t.Context(), req)
			installed(t, err)
			if got.Stdout != "ran\n" {
				t.Errorf("%+v", got)
			}
			req.Libraries = append(req.Libraries, test.missing)
			if _, err = e.Execute(t.Context(), req); !errors.Is(err, backend.ErrUnsupported) {
				t.Fatalf("error %v, want ErrUnsupported", err)
			}
			says(t, err.Error(), "installing "+test.missing+" failed", "not installed", "was not run")
		})
	}
}

func TestNativeManyCalls(t *testing.T) {
	t.Parallel()
	e, _ := onNative(t, backend.Limits{})
	if _, err := e.Execute(t.Context(), engine.Request{Code: "pass"}); err != nil {
		installed(t, err)
	}
	var calls sync.WaitGroup
	gate := make(chan struct{}, 8)
	for i := range 40 {
		gate <- struct{}{}
		calls.Go(func() {
			defer func() { <-gate }()
			want := strings.Repeat("x", i)
			got, err := e.Execute(t.Context(), engine.Request{Code: "print(input(), end='')", Stdin: want + "\n"})
			if err != nil || got.Stdout != want {
				t.Errorf("call %d: %+v, %v", i, got, err)
			}
		})
	}
	calls.Wait()
}

func BenchmarkNativePrint(b *testing.B) {
	e, _ := onNative(b, backend.Limits{Memory: 512 << 20, Processes: 128})
	if _, err := e.Execute(b.Context(), engine.Request{Code: "print(1)", Artifacts: true}); err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		got, err := e.Execute(b.Context(), engine.Request{Code: "print(1)", Artifacts: true})
		if err != nil || got.Stdout != "1\n" {
			b.Fatalf("%+v, %v", got, err)
		}
	}
}
