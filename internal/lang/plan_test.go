package lang_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

var update = flag.Bool("update", false, "write the golden files")

func lookup(tb testing.TB, name string) *lang.Language {
	tb.Helper()
	l, err := lang.Builtin().Lookup(name)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// input is what a container gives: paths of a sandbox, programs on its PATH.
func input(code string) lang.Input {
	return lang.Input{Code: code, WorkDir: "/sandbox", HomeDir: "/home/sandbox"}
}

// TestPlanGolden compares whole plans with testdata/plans; -update writes them.
func TestPlanGolden(t *testing.T) {
	t.Parallel()
	limited := input("")
	limited.CPUs, limited.Memory, limited.PrefixDir = 2, 512<<20, "/opt/sandbox"
	located := input("")
	located.Env = []string{"GOROOT=/home/u/go", "JAVA_HOME=/home/u/jdk", "TZ=Europe/Oslo", "HOOK=1"}
	located.Programs = map[string]string{
		"python3": "/home/u/.venv/bin/python3", "node": "/home/u/.nvm/versions/node/v20/bin/node",
		"java": "/home/u/jdk/bin/java", "javac": "/home/u/jdk/bin/javac", "g++": "/usr/bin/clang++",
		"go": "/home/u/go/bin/go", "Rscript": "/opt/R/4.5/bin/Rscript", "ruby": "/usr/bin/ruby",
	}
	for _, test := range []struct {
		name, language string
		in             lang.Input
		code           string
	}{
		{"python", "python", input(""), "\ufeff    print(1)\r\n"},
		{"python-limits", "python", limited, "print(1)\n"},
		{"python-located", "python", located, "print(1)\n"},
		{"javascript-script", "javascript", limited, "const fs = require('fs')\n"},
		{"javascript-module", "javascript", input(""), "import 'node:fs'\n"},
		{"javascript-mixed", "javascript", located, "const fs = require('fs')\nawait 1\n"},
		{"java", "java", limited, "package a.b;\nclass Helper { }\npublic class App { public static void main(String[] a) { } }\n"},
		{"java-located", "java", located, "class Main { public static void main(String[] a) { } }\n"},
		{"java-public-classes", "java", input(""), "import x.Y;\n\npublic class A { }\n\n/** doc */ class B { }\npublic class C { static void main(String[] a) { } }\n"},
		{"cpp", "cpp", limited, "int main() { }\n"},
		{"cpp-located", "cpp", located, "int main() { }\n"},
		{"go", "go", limited, "package main\n\nfunc main() {}\n"},
		{"go-library", "go", input(""), "package tools\n"},
		{"go-files", "go", located, "-- go.mod --\nmodule m\n-- cmd/x/main.go --\npackage main\n-- m.go_test.go --\n"},
		{"r", "r", limited, "cat(1)\n"},
		{"ruby", "ruby", located, "puts 1\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.in.Code = test.code
			plan, err := lookup(t, test.language).Plan(test.in)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "plans", test.name+".golden"), text(plan.Files, plan.Steps))
		})
	}
	t.Run("go-base", func(t *testing.T) {
		t.Parallel()
		base := lookup(t, "go").Base(limited)
		header := fmt.Sprintf("dir %s scratch %v future %v stamp %s\n", base.Dir, base.Scratch, base.FutureTime, base.Stamp)
		golden(t, filepath.Join("testdata", "plans", "go-base.golden"), header+text(base.Files, base.Steps))
	})
}

func text(files []lang.File, steps []lang.Step) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "file %s", f.Name)
		if f.Executable {
			b.WriteString(" (executable)")
		}
		b.WriteString("\n")
		for line := range strings.Lines(string(f.Data)) {
			fmt.Fprintf(&b, "\t%q\n", line)
		}
	}
	for _, s := range steps {
		fmt.Fprintf(&b, "step %s compile=%v in %s\n", s.Name, s.Compile, s.Dir)
		for _, arg := range s.Args {
			fmt.Fprintf(&b, "\t%s\n", arg)
		}
		b.WriteString("  with\n")
		for _, pair := range s.Env {
			fmt.Fprintf(&b, "\t%s\n", pair)
		}
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestPlanEnvironment(t *testing.T) {
	t.Parallel()
	for _, name := range lang.Builtin().Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input("")
			in.Env = []string{"PATH=/only/this", "HOOK=a=b"}
			plan, err := lookup(t, name).Plan(in)
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range plan.Steps {
				seen := make(map[string]string)
				for _, pair := range step.Env {
					key, value, ok := strings.Cut(pair, "=")
					if _, twice := seen[key]; !ok || twice {
						t.Errorf("%s: pair %q is malformed or given twice", step.Name, pair)
					}
					seen[key] = value
				}
				want := map[string]string{
					"PATH": "/only/this", "HOOK": "a=b", "HOME": "/home/sandbox", "USER": "sandbox",
					"TMPDIR": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC",
				}
				for key, value := range want {
					if seen[key] != value {
						t.Errorf("%s: %s=%q, want %q", step.Name, key, seen[key], value)
					}
				}
				if _, ok := seen["OMP_NUM_THREADS"]; ok {
					t.Errorf("%s: a number of threads although that of processors is unknown", step.Name)
				}
			}
		})
	}
}

// A cache that was built ahead is hit only if it was built as the plan builds.
func TestBaseMatchesPlan(t *testing.T) {
	t.Parallel()
	in := input("package main\n\nfunc main() {}\n")
	in.CPUs, in.Memory = 2, 1<<30
	l := lookup(t, "go")
	base := l.Base(in)
	in.PrefixDir = "/opt/sandbox"
	plan, err := l.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	ahead, compile := base.Steps[0], plan.Steps[0]
	// Neither the cache's path nor a limit of memory is part of what the go command looks entries up by.
	pathless := func(pair string) bool {
		return !strings.HasPrefix(pair, "GOCACHE=") && !strings.HasPrefix(pair, "GOMEMLIMIT=")
	}
	if diff := cmp.Diff(filter(ahead.Env, pathless), filter(compile.Env, pathless)); diff != "" {
		t.Errorf("environment (-base +plan):\n%s", diff)
	}
	if !slices.Contains(ahead.Env, "GOCACHE=/sandbox/"+base.Dir) || !slices.Contains(compile.Env, "GOCACHE=/opt/sandbox/"+base.Dir) {
		t.Errorf("caches are not at %q of the working directory and the prefix", base.Dir)
	}
	flag := func(arg string) bool { return strings.HasPrefix(arg, "-") && arg != "-o" }
	if diff := cmp.Diff(filter(ahead.Args, flag), filter(compile.Args, flag)); diff != "" {
		t.Errorf("flags (-base +plan):\n%s", diff)
	}
	for _, name := range lang.Builtin().Names() {
		if base := lookup(t, name).Base(in); (base != nil) != (name == "go") {
			t.Errorf("%s: base %+v", name, base)
		}
	}
}

func filter(list []string, keep func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !keep(s) })
}

func TestHeapLeavesRoom(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		memory int64
		want   string // MiB
	}{
		{0, ""},
		{128 << 20, "32"},
		{256 << 20, "64"},
		{512 << 20, "320"},
		{1 << 30, "768"},
		{8 << 30, "6144"},
	} {
		in := input("")
		in.Memory = test.memory
		for language, flag := range map[string]string{"javascript": "--max-old-space-size=", "java": "-Xmx"} {
			plan, err := lookup(t, language).Plan(in)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, arg := range plan.Steps[len(plan.Steps)-1].Args {
				if value, ok := strings.CutPrefix(arg, flag); ok {
					got = strings.TrimSuffix(value, "m")
				}
			}
			if got != test.want {
				t.Errorf("%s with %d bytes: heap %q MiB, want %q", language, test.memory, got, test.want)
			}
		}
	}
}

func TestGoFilesRefused(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"-- ../x.go --\n":                                 `go: file "../x.go": not a relative path with slashes`,
		"-- /etc/passwd --\n":                             `go: file "/etc/passwd": not a relative path with slashes`,
		"-- a//b.go --\n":                                 `go: file "a//b.go": not a relative path with slashes`,
		"-- a\\b.go --\n":                                 `go: file "a\\b.go": not a relative path with slashes`,
		"-- . --\n":                                       `go: file ".": not a relative path with slashes`,
		"-- a.go --\n-- a.go --\n":                        `go: file "a.go": given twice; put every file below its own -- name -- line`,
		"package main\n-- main.go --\n":                   `go: file "main.go": given twice; put every file below its own -- name -- line`,
		strings.Repeat("x", 3) + manyFiles(501):           "go: more than 500 files",
		"-- " + strings.Repeat("long/", 30) + "../x --\n": `go: file "` + strings.Repeat("long/", 12) + `"…: not a relative path with slashes`,
	} {
		_, err := lookup(t, "go").Plan(input(code))
		if err == nil || err.Error() != want {
			t.Errorf("%.40q: error %v, want %s", code, err, want)
		}
	}
}

func manyFiles(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\n-- f%d.go --\n", i)
	}
	return b.String()
}

func TestLongSource(t *testing.T) {
	t.Parallel()
	got := run(t, "python", "s = '"+strings.Repeat("a", 1_000_000)+"'\nprint(len(s))\n")
	if got.code != 0 || got.stdout != "1000000\n" {
		t.Errorf("exit code %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
}
