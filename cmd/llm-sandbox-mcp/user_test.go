//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// ordinary is a user and a group without a name, whom root can become.
const ordinary = 54321

// TestCasesAsOrdinaryUser runs the cases once more, with servers that root's tests start as someone
// else. Cases for Go are left out: its standard library would be compiled for this user as well.
func TestCasesAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("all tests run as an ordinary user: there is nothing to add")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skipf("becoming another user needs setpriv, of util-linux: %v", err)
	}
	cases := slices.DeleteFunc(readCases(t, "native"), func(c failureCase) bool {
		language, _ := c.Arguments["language"].(string)
		return language == "go" || language == "golang" || c.id == "HARD-04"
	})
	runCases(t, cases, func(t testing.TB, env ...string) *mcptest.Server {
		t.Helper()
		o := serverOptions(t, env...)
		dir := ownedDirectory(t)
		o.Env = append(o.Env, "HOME="+dir, "TMPDIR="+dir)
		id := strconv.Itoa(ordinary)
		o.Path, o.Args = setpriv, []string{"--reuid", id, "--regid", id, "--clear-groups", o.Path}
		s := mcptest.Start(t, o)
		s.Initialize(t)
		return s
	}, "memory limit", "process limit") // root's tests require them; this user has no control groups
}

// ownedDirectory makes a directory that belongs to the ordinary user and that it can reach.
func ownedDirectory(t testing.TB) string {
	t.Helper()
	if err := os.Chmod(scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(scratch, "user-") //nolint:usetesting // other users cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chown(dir, ordinary, ordinary); err != nil {
		t.Fatal(err)
	}
	return dir
}
