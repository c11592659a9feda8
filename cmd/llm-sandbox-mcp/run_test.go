package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ended is what a command left.
type ended struct {
	status         int
	stdout, stderr string
}

// shell runs the binary in a directory of its own, as a user would.
func shell(t *testing.T, stdin string, env []string, args ...string) (ended, string) {
	t.Helper()
	dir := t.TempDir()
	return shellIn(t, dir, stdin, env, args...), dir
}

func shellIn(t *testing.T, dir, stdin string, env []string, args ...string) ended {
	t.Helper()
	options := serverOptions(t, env...)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, options.Path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, options.Env, strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// program writes a file.
func program(t *testing.T, name, code string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRun(t *testing.T) {
	t.Parallel()
	echo := program(t, "echo.py", "import sys\nprint(sys.stdin.read().upper(), end='')\nprint('warning', file=sys.stderr)\nsys.exit(3)\n")
	for _, test := range []struct {
		name, stdin string
		args        []string
		want        ended
	}{
		{"streams and exit status pass through", "a\nb", []string{echo}, ended{3, "A\nB", "warning\n"}},
		{"program from standard input", "print(input())", []string{"-lang", "py", "-"},
			ended{1, "", "EOFError: EOF when reading a line\n"}},
		{"language by shebang", "", []string{program(t, "script", "#!/usr/bin/env -S node --no-warnings\nconsole.log(6 * 7)\n")}, ended{0, "42\n", ""}},
		{"language by name, in capitals", "", []string{program(t, "a.MJS", "console.log(await 1)\n")}, ended{0, "1\n", ""}},
		{"more than a server would return", "", []string{program(t, "a.py", "print('x' * 999_999)")}, ended{0, strings.Repeat("x", 999_999) + "\n", ""}},
		{"signal", "", []string{program(t, "a.py", "import os\nos.kill(os.getpid(), 9)")},
			ended{137, "", "llm-sandbox-mcp: The program was ended by signal 9 (SIGKILL).\n"}},
		{"timeout", "", []string{"-timeout", "1s", program(t, "a.py", "print('before', flush=True)\nwhile True: pass")},
			ended{124, "before\n", "llm-sandbox-mcp: The program timed out after 1 s; the limit covers compiling and running. " +
				"Make it faster, or give a larger timeout (at most 600 s).\n"}},
		{"compiler", "", []string{program(t, "a.cpp", "#warning careful\nint main() { return 4; }\n")}, ended{4, "", "careful\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, dir := shell(t, test.stdin, nil, append([]string{"run"}, test.args...)...)
			if test.name == "program from standard input" || test.name == "compiler" {
				got.stderr = lastLines(got.stderr, test.want.stderr)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(ended{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left in the directory: %v, %v", left, err)
			}
		})
	}
}

// lastLines shortens an output that holds the wanted text to that.
func lastLines(output, want string) string {
	if strings.Contains(output, strings.TrimSpace(want)) {
		return want
	}
	return output
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	py := program(t, "a.py", "print('ran')")
	for _, test := range []struct {
		name   string
		env    []string
		args   []string
		status int
		says   string
	}{
		{"no file", nil, nil, 2, "Usage: llm-sandbox-mcp run"},
		{"two files", nil, []string{py, py}, 2, "Usage: llm-sandbox-mcp run"},
		{"unknown flag", nil, []string{"-bogus", py}, 2, "bogus"},
		{"missing file", nil, []string{"/no/such.py"}, 2, "no such file"},
		{"no language", nil, []string{program(t, "notes.txt", "hello")}, 2, "-lang"},
		{"unknown language", nil, []string{"-lang", "cobol", py}, 125, "cobol"},
		{"negative timeout", nil, []string{"-timeout", "-1s", py}, 125, "negative"},
		{"unknown backend", []string{"BACKEND=foo"}, []string{py}, 125, `"foo" is not a valid SandboxBackend; set it to one of: auto, native`},
		{"backend of another build", []string{"BACKEND=bubblewrap", "PATH=/nonexistent"}, []string{py}, 125, "no bubblewrap backend, which needs bwrap"},
		{"network", []string{"SANDBOX_NETWORK_MODE=host"}, []string{py}, 125, "SANDBOX_NETWORK_MODE=host"},
		{"network by automatic choice", []string{"BACKEND=", "SANDBOX_NETWORK_MODE=bridge"}, []string{py}, 125, "SANDBOX_NETWORK_MODE=bridge"},
		{"privileges", []string{"SANDBOX_PRIVILEGED=true"}, []string{py}, 125, "SANDBOX_PRIVILEGED=true"},
		{"no filter", []string{"SANDBOX_SECURITY_OPT=seccomp=unconfined"}, []string{py}, 125, "SANDBOX_SECURITY_OPT=seccomp=unconfined"},
		{"wrong setting", []string{"SANDBOX_MEMORY=lots"}, []string{py}, 125, "SANDBOX_MEMORY"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, _ := shell(t, "", test.env, append([]string{"run"}, test.args...)...)
			if got.status != test.status || !strings.Contains(got.stderr, test.says) {
				t.Errorf("status %d, stderr %q, want %d and %q", got.status, got.stderr, test.status, test.says)
			}
			if strings.Contains(got.stdout, "ran") {
				t.Error("the program was run")
			}
		})
	}
}

func TestRunSavesFiles(t *testing.T) {
	t.Parallel()
	py := program(t, "a.py", "open('table.csv', 'w').write('a,b')\nimport os\nos.mkdir('d')\nopen('d/page.html', 'w').write('<p>hi')\n")
	dir := t.TempDir()
	for range 2 { // the second time nothing is overwritten
		if got := shellIn(t, dir, "", nil, "run", "-out", "made/here", py); got.status != 0 || got.stdout != "" {
			t.Fatalf("%+v", got)
		}
	}
	got := shellIn(t, dir, "", nil, "run", "-out", "made/here", py)
	if want := "saved " + filepath.Join("made/here", "table-3.csv"); !strings.Contains(got.stderr, want) {
		t.Errorf("stderr %q does not say %q", got.stderr, want)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "made/here"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"page-2.html", "page-3.html", "page.html", "table-2.csv", "table-3.csv", "table.csv"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "made/here/table-2.csv")); err != nil || string(text) != "a,b" {
		t.Errorf("table-2.csv holds %q, %v", text, err)
	}
}

func TestRunIsInterrupted(t *testing.T) {
	t.Parallel()
	options := serverOptions(t)
	py := program(t, "a.py", "print('started', flush=True)\nwhile True: pass\n")
	cmd := exec.CommandContext(t.Context(), options.Path, "run", py)
	cmd.Env, cmd.Dir = options.Env, t.TempDir()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("started\n"))
	if _, err := out.Read(line); err != nil { // comes at once: it is not held back until the end
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_ = cmd.Wait() // the status says more
	if status, took := cmd.ProcessState.ExitCode(), time.Since(began); status != 130 || took > 4*time.Second {
		t.Errorf("status %d after %v, want 130 soon", status, took)
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	got, _ := shell(t, "", nil, "doctor", "-json")
	var d struct {
		Backend  string
		Backends []struct {
			Name, Problem, Isolation string
			Enforced                 []string `json:"enforced_limits"`
			Inside                   []string
		}
		Languages []struct {
			Name, Version, Problem string
			Programs               []string
			Seconds                float64
		}
		Cache struct{ Dir, Problem string }
	}
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil {
		t.Fatalf("%v: %s %s", err, got.stdout, got.stderr)
	}
	if got.status != 0 || d.Backend != "native" || len(d.Backends) == 0 || d.Backends[0].Problem != "" {
		t.Fatalf("status %d, diagnosis %+v", got.status, d)
	}
	inside := d.Backends[0].Inside
	if len(inside) < 5 || !slices.Equal(inside[:4], []string{"user 1000", "no capabilities", "no_new_privs", "system call filter"}) {
		t.Errorf("inside %q", inside)
	}
	if !slices.Contains(d.Backends[0].Enforced, "disk") {
		t.Errorf("enforced %q", d.Backends[0].Enforced)
	}
	var names []string
	for _, l := range d.Languages {
		names = append(names, l.Name)
		if l.Problem == "" && (l.Version == "" || l.Seconds <= 0 || len(l.Programs) == 0) {
			t.Errorf("language %+v", l)
		}
	}
	if diff := cmp.Diff([]string{"python", "java", "javascript", "cpp", "go", "ruby", "r"}, names); diff != "" {
		t.Errorf("languages (-want +got):\n%s", diff)
	}
	if d.Cache.Problem != "" || !filepath.IsAbs(d.Cache.Dir) {
		t.Errorf("cache %+v", d.Cache)
	}
}

func TestDoctorForPeople(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		env    []string
		status int
		says   []string
	}{
		{"all is well", nil, 0, []string{
			`(?m)^Backend native: works, and runs the programs$`,
			`(?m)^  in a sandbox +user 1000, no capabilities`,
			`(?m)^  python +3\.\d+\.\d+ +\d+\.\d\d s  /`,
		}},
		{"no such backend and no cache", []string{"BACKEND=podman", "SANDBOX_CACHE_DIR=/dev/null/x"}, 1, []string{
			`(?m)^Cache /dev/null/x: cannot be used$`, `SANDBOX_CACHE_DIR`,
			`(?m)^  BACKEND=podman: this build has no podman backend`, `(?m)^Backend native: works, but BACKEND names another$`,
		}},
		{"a setting it cannot honour", []string{"SANDBOX_PRIVILEGED=1"}, 1, []string{
			`(?m)^Backend native: does not work$`, `(?m)^  native: SANDBOX_PRIVILEGED=true: `,
		}},
		{"a wrong setting", []string{"SANDBOX_MEMORY=lots", "SANDBOX_MEMROY=1g"}, 1, []string{
			`(?m)^  SANDBOX_MEMROY .*did you mean SANDBOX_MEMORY`, `(?m)^  SANDBOX_MEMORY must be a size`,
			`(?m)^Backend native: works, but runs nothing before the settings are right$`, `(?m)^Cache /.*: \d+\.\d MiB in environments`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, _ := shell(t, "", test.env, "doctor")
			if got.status != test.status {
				t.Errorf("status %d, want %d; stderr %q", got.status, test.status, got.stderr)
			}
			for _, pattern := range test.says {
				if !regexp.MustCompile(pattern).MatchString(got.stdout) {
					t.Errorf("no %s in\n%s", pattern, got.stdout)
				}
			}
		})
	}
}
