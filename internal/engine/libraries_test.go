package engine_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/fake"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
)

// hasNumPy plays an interpreter that, asked for libraries, misses all but numpy.
func hasNumPy(asked, ran *atomic.Int64) fake.Program {
	return func(_ context.Context, c *fake.Call) backend.Exit {
		names, _ := io.ReadAll(c.Stdin)
		if len(names) == 0 {
			ran.Add(1)
			return backend.Exit{}
		}
		asked.Add(1)
		for line := range strings.Lines(string(names)) {
			if name := strings.TrimSpace(line); name != "numpy" {
				_, _ = io.WriteString(c.Stdout, name+"\tit is not installed\n")
			}
		}
		return backend.Exit{}
	}
}

func TestLibrariesThatAreThere(t *testing.T) {
	t.Parallel()
	var asked, ran atomic.Int64
	s := python(t, hasNumPy(&asked, &ran))
	for range 3 {
		s.execute(t, engine.Request{Code: "import numpy", Libraries: []string{" numpy "}})
	}
	if asked.Load() != 1 || ran.Load() != 3 {
		t.Errorf("looked %d times and ran %d times, want 1 and 3", asked.Load(), ran.Load())
	}
}

func TestLibrariesThatAreMissing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		language, program string
		libraries         []string
		says              []string
	}{
		{"python", "python3", []string{"numpy", "flask==0.0.0", "rich"},
			[]string{"installing flask==0.0.0, rich failed", "not installed", "/usr/bin/python3 -m pip install 'flask==0.0.0' rich"}},
		{"javascript", "node", []string{"@types/node@^20"}, []string{"installing @types/node@^20 failed", "write the code without it"}},
		{"ruby", "ruby", []string{"rails -v 7.1.0"}, []string{"installing rails -v 7.1.0 failed", "write the code without it"}},
		{"r", "Rscript", []string{"data.table"}, []string{"data.table", `install.packages(c("data.table"))`}},
		{"java", "javac", []string{"com.google.code.gson:gson:2.10.1"}, []string{"gson", "cannot be installed"}},
		{"go", "go", []string{"github.com/google/uuid"}, []string{"google/uuid", "cannot be installed"}},
	} {
		t.Run(test.language, func(t *testing.T) {
			t.Parallel()
			var asked, ran atomic.Int64
			s := start(t, map[string]fake.Program{test.program: hasNumPy(&asked, &ran)})
			for range 2 { // a failure is looked into again: it may have been repaired
				_, err := s.Execute(t.Context(), engine.Request{Language: test.language, Code: "1", Libraries: test.libraries})
				if !errors.Is(err, backend.ErrUnsupported) {
					t.Fatalf("error %v, want ErrUnsupported", err)
				}
				says(t, err.Error(), append(test.says, "was not run")...)
			}
			if ran.Load() != 0 {
				t.Error("the code was run")
			}
		})
	}
}

func TestLibrariesCannotBeLookedFor(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]fake.Program{
		"failure":        printBoth("", "SyntaxError\n", 1),
		"strange answer": fake.Print("what?\n", 0),
		"other library":  fake.Print("scipy\tit is not installed\n", 0),
	} {
		s := python(t, program)
		_, err := s.Execute(t.Context(), engine.Request{Code: "1", Libraries: []string{"numpy"}})
		if !errors.Is(err, backend.ErrUnavailable) {
			t.Fatalf("%s: error %v, want ErrUnavailable", name, err)
		}
		says(t, err.Error(), "look for numpy")
	}
}
