package lang_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// result is what a plan did on this host.
type result struct {
	code           int
	stdout, stderr string
	step           string
}

// host answers where this host has the programs of a language. The test is skipped if one is missing,
// or fails if SANDBOX_TEST_REQUIRE names the language.
func host(t *testing.T, l *lang.Language) map[string]string {
	t.Helper()
	programs := make(map[string]string)
	for _, alternatives := range l.Programs {
		// Version managers put scripts of their own first; /usr/bin has what the system installed.
		for _, name := range alternatives {
			for _, dir := range []string{"/usr/bin", "/usr/local/bin", "/usr/local/go/bin"} {
				if p := filepath.Join(dir, name); programs[alternatives[0]] == "" && exec.Command("test", "-x", p).Run() == nil {
					programs[alternatives[0]] = p
				}
			}
		}
		if programs[alternatives[0]] == "" {
			if slices.Contains(strings.Split(os.Getenv("SANDBOX_TEST_REQUIRE"), ","), l.Name) {
				t.Fatalf("%s is not installed and SANDBOX_TEST_REQUIRE names %s", alternatives[0], l.Name)
			}
			t.Skipf("%s is not installed", alternatives[0])
		}
	}
	return programs
}

// run executes the plan of a program in a directory of its own, with nothing of the test's environment.
func run(t *testing.T, language, code string, change ...func(*lang.Input)) result {
	t.Helper()
	l, err := lang.Builtin().Lookup(language)
	if err != nil {
		t.Fatal(err)
	}
	in := lang.Input{
		Code:     code,
		WorkDir:  t.TempDir(),
		HomeDir:  t.TempDir(),
		Programs: host(t, l),
		CPUs:     2,
		Memory:   1 << 30,
	}
	if l.Name == "go" {
		in.Env = []string{"GOCACHE=" + goCache(t)}
	}
	for _, f := range change {
		f(&in)
	}
	plan, err := l.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	return runPlan(t, plan, in.WorkDir)
}

func runPlan(t *testing.T, plan lang.Plan, workDir string) result {
	t.Helper()
	for _, f := range plan.Files {
		name := filepath.Join(workDir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var res result
	for _, step := range plan.Steps {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), step.Args[0], step.Args[1:]...)
		cmd.Env, cmd.Dir = step.Env, step.Dir
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if step.Compile {
			cmd.Stdout = &stderr
		}
		cmd.WaitDelay = time.Second
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("%s: %v", step.Name, err)
		}
		res.step = step.Name
		res.code = exitCode(cmd.ProcessState)
		res.stdout += stdout.String()
		res.stderr += stderr.String()
		if res.code != 0 {
			break
		}
	}
	return res
}

// goCache is the build cache that tests share. It is the one of the go command that runs them.
func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
