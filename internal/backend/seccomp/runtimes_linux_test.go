package seccomp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The runtimes of the seven languages, under the filter, do what programs do most: threads, processes,
// sockets, files, shared memory. Each program prints "ok" in the end.
func TestRuntimesWork(t *testing.T) {
	t.Parallel()
	// The interpreter of the distribution has its libraries; another may come first in PATH.
	python := "/usr/bin/python3"
	goCommand := filepath.Join(runtime.GOROOT(), "bin", "go") //nolint:staticcheck // the toolchain that runs this test
	for _, test := range []struct {
		need     string
		file     string
		commands [][]string
	}{
		{"python", "all.py", [][]string{{python, "all.py"}}},
		{"python:matplotlib", "plot.py", [][]string{{python, "-c", "import numpy, pandas, matplotlib"}, {python, "plot.py"}}},
		{"javascript", "all.js", [][]string{{"node", "all.js"}}},
		{"java", "All.java", [][]string{{"javac", "All.java"}, {"java", "All"}}},
		{"cpp", "all.cpp", [][]string{{"g++", "-std=c++20", "-pthread", "all.cpp"}, {"./a.out"}}},
		{"go", "all.go", [][]string{{goCommand, "build", "-o", "all", "all.go"}, {"./all"}}},
		{"r", "all.R", [][]string{{"Rscript", "--vanilla", "all.R"}}},
		{"ruby", "all.rb", [][]string{{"ruby", "all.rb"}}},
	} {
		t.Run(test.need, func(t *testing.T) {
			t.Parallel()
			first := test.commands[0]
			if _, err := exec.LookPath(first[0]); err != nil {
				missing(t, test.need, err.Error())
			}
			if strings.Contains(test.need, ":") {
				if out, err := exec.Command(first[0], first[1:]...).CombinedOutput(); err != nil {
					missing(t, test.need, string(out))
				}
			}
			dir := t.TempDir()
			text, err := os.ReadFile(filepath.Join("testdata", test.file))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, test.file), text, 0o600); err != nil {
				t.Fatal(err)
			}
			var out []byte
			for _, command := range test.commands {
				cmd := exec.Command("/proc/self/exe", append([]string{childProgram}, command...)...)
				cmd.Dir = dir
				if out, err = cmd.CombinedOutput(); err != nil {
					t.Fatalf("%q: %v\n%s", command, err, out)
				}
			}
			if !strings.HasSuffix(string(out), "ok\n") {
				t.Errorf("it printed %q, want ok", out)
			}
		})
	}
}
