package main_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// needs remembers what servers have that a case wants.
type needs struct {
	start starter

	mu    sync.Mutex
	found map[string]error
}

// missing says why something is not there, or nothing if it is.
func (n *needs) missing(t *testing.T, need string) string {
	t.Helper()
	if need == "network" {
		return "it installs a library, which the tests of libraries do"
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	err, known := n.found[need]
	if !known {
		err = n.lookFor(t, need)
		n.found[need] = err
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// lookFor asks a sandbox, which is where it must be.
func (n *needs) lookFor(t *testing.T, need string) error {
	t.Helper()
	language, library, _ := strings.Cut(need, ":")
	if limit, ok := strings.CutSuffix(need, " limit"); ok {
		return lookForLimit(t, n.start(t), map[string]string{"process": "processes"}[limit], limit)
	}
	code := map[string]string{"python": "import " + library, "r": "library(" + library + ")", "ruby": "puts 1"}[language]
	switch {
	case library == "" && language == "r":
		code = "cat(1)"
	case code == "":
		return fmt.Errorf("the test does not know how to look for it")
	}
	r, err := n.start(t).Call("execute_code", map[string]any{"language": language, "code": code, "timeout": 60}, 90*time.Second)
	if err != nil {
		return err
	}
	if r.Failed() {
		lines := strings.Split(strings.TrimSpace(r.Message()), "\n")
		return fmt.Errorf("%s", lines[len(lines)-1])
	}
	return nil
}

// lookForLimit reads in a result which limits the backend does not enforce.
func lookForLimit(t *testing.T, s *mcptest.Server, names ...string) error {
	t.Helper()
	r := execute(t, s, "python", "print(1)", time.Minute)
	unenforced, _ := r.Fields["unenforced_limits"].([]any)
	for _, name := range names {
		if slices.Contains(unenforced, any(name)) {
			return fmt.Errorf("the backend does not enforce it")
		}
	}
	return nil
}
