package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// TestHostilePrograms runs what is in testdata/hostile; the README there says what its comments mean.
func TestHostilePrograms(t *testing.T) {
	t.Parallel()
	runHostile(t, "*", startServer)
}

// runHostile runs those of some languages. What is optional may be missing, also where it is required of
// other tests.
func runHostile(t *testing.T, languages string, start starter, optional ...string) {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/hostile/" + languages + "/*.*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no hostile programs: %v", err)
	}
	places := make(chan struct{}, 2)
	for _, path := range paths {
		language := filepath.Base(filepath.Dir(path))
		t.Run(language+"/"+filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			places <- struct{}{}
			defer func() { <-places }()
			h := readHostile(t, path)
			if h.needs != "" {
				err := lookForLimit(t, start(t), strings.TrimSuffix(h.needs, " limit"))
				if err != nil && slices.Contains(optional, h.needs) {
					t.Skipf("needs %s: %v", h.needs, err)
				}
				if err != nil {
					missing(t, h.needs, "needs %s: %v", h.needs, err)
				}
			}
			h.run(t, language, start)
		})
	}
}

// A hostile program, and what must come of it.
type hostile struct {
	code    string
	env     []string
	timeout int
	needs   string
	wants   [][2]string
}

func readHostile(t *testing.T, path string) hostile {
	t.Helper()
	code, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h := hostile{code: string(code), timeout: 30}
	for line := range strings.Lines(h.code) {
		_, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " want: ")
		if !ok {
			continue
		}
		key, value, _ := strings.Cut(want, " ")
		switch key {
		case "env":
			h.env = append(h.env, value)
		case "needs":
			h.needs = value
		case "timeout":
			h.timeout = number(t, value)
		default:
			h.wants = append(h.wants, [2]string{key, value})
		}
	}
	if len(h.wants) == 0 {
		t.Fatalf("%s wants nothing", path)
	}
	return h
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (h hostile) run(t *testing.T, language string, start starter) {
	t.Helper()
	s := start(t, h.env...)
	r, err := s.Call("execute_code",
		map[string]any{"language": language, "code": h.code, "timeout": h.timeout}, 3*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range h.wants {
		if !h.holds(t, r, want[0], want[1]) {
			t.Errorf("want %s %s", want[0], want[1])
		}
	}
	if t.Failed() {
		t.Logf("after %v: %.3000s", r.Took, r.Text)
	}
	printsOne(t, s)
}

func (h hostile) holds(t *testing.T, r mcptest.Result, key, value string) bool {
	t.Helper()
	status, _ := r.Fields["status"].(string)
	artifacts, _ := r.Fields["artifacts"].([]any)
	switch key {
	case "exit":
		return r.Ran && r.ExitCode == number(t, value)
	case "status":
		return slices.Contains(strings.Fields(value), status)
	case "stdout":
		return r.Stdout == strings.ReplaceAll(value, `\n`, "\n")+"\n"
	case "stdout-lacks":
		return r.Ran && !strings.Contains(r.Stdout+r.Stderr, value)
	case "images":
		return r.Ran && len(r.Images) == number(t, value)
	case "artifacts":
		return r.Ran && len(artifacts) == number(t, value)
	case "seconds":
		return r.Took < time.Duration(number(t, value))*time.Second
	case "sleeps":
		return eventually(time.Second, func() bool { return !someoneHasArgument(value) })
	}
	t.Fatalf("no one knows what %q means", key)
	return false
}
