//go:build linux

package main_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs testdata/script/*.txtar: command lines and conversations in raw lines with the real
// binary. Beside the commands of package testscript there is
//
//	transcript IN OUT
//
// which serves IN as piped input, in which @LONG@ stands for 100,000 letters, and puts the answers into
// OUT, sorted by their ids, with sorted keys and without what differs from run to run. The server must
// exit with 0. With -update, files that follow cmp in a script are rewritten.
func TestScripts(t *testing.T) {
	t.Parallel()
	server, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(server)+":"+env.Getenv("PATH"))
			env.Setenv("BACKEND", "native")
			env.Setenv("SANDBOX_CACHE_DIR", filepath.Join(scratch, "cache"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"transcript": transcript},
	})
}

func transcript(ts *testscript.TestScript, _ bool, args []string) {
	path, err := binary()
	ts.Check(err)
	cmd := exec.Command(path)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "BACKEND", "SANDBOX_CACHE_DIR",
		"SANDBOX_EOF_GRACE", "SANDBOX_MAX_MESSAGE", "SANDBOX_READ_ONLY"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(ts.ReadFile(args[0]), "@LONG@", strings.Repeat("x", 100_000)))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		ts.Fatalf("%v\n%s", err, stderr.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(canonical(ts, string(out))), 0o600))
}

var (
	// changing is what differs from run to run: measurements, in text and in structured content, and
	// the version of the program.
	changing = regexp.MustCompile(`((?:duration_seconds|cpu_seconds|peak_memory_bytes)\\*": ?)[0-9.]+|` +
		`("name":"llm-sandbox","title":"LLM Sandbox","version":)"[^"]*"`)
	// unenforced differs from machine to machine.
	unenforced = regexp.MustCompile(`\\n +\\"unenforced_limits\\": \[.*?\],|,"unenforced_limits":\[.*?\]`)
)

// canonical brings a server's output into a form that can be compared.
func canonical(ts *testscript.TestScript, out string) string {
	type message struct{ id, text string }
	var all []message
	for l := range strings.Lines(out) {
		var m any
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			ts.Fatalf("not JSON: %v: %s", err, l)
		}
		var id string
		if object, ok := m.(map[string]any); ok {
			id = fmt.Sprintf("%5v", object["id"])
		}
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		ts.Check(enc.Encode(m))
		same := unenforced.ReplaceAllString(changing.ReplaceAllString(text.String(), `$1${2}0`), "")
		all = append(all, message{id, same})
	}
	slices.SortStableFunc(all, func(a, b message) int { return cmp.Compare(a.id, b.id) })
	var b strings.Builder
	for _, m := range all {
		b.WriteString(m.text)
	}
	return b.String()
}
