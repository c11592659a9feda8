//go:build linux

package main_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// golang/go#64721, compiler-explorer/infra#1596: compiling the standard library takes longer than the
// limit of the first call. Not parallel, because it times what keeps all processors busy.
func TestGO08ColdBuildCache(t *testing.T) {
	s := startServer(t, "HOME="+t.TempDir())
	arguments := map[string]any{"language": "go", "code": `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

func main() {
	text, _ := json.Marshal(map[string]int{"status": http.StatusOK})
	fmt.Println(string(text))
}
`}
	right := func(name string, r mcptest.Result, err error) {
		t.Helper()
		if err != nil || r.ExitCode != 0 || r.Stdout != "{\"status\":200}\n" {
			t.Errorf("%s: %v, exit code %d, stdout %q, %q", name, err, r.ExitCode, r.Stdout, r.Message())
		}
	}
	// Compiling the standard library takes half a minute of two free processors; other tests share them.
	r, err := s.Call("execute_code", arguments, 6*time.Minute)
	right("first", r, err)
	t.Logf("first call: %v", r.Took)
	r, err = s.Call("execute_code", arguments, 2*time.Minute)
	right("second", r, err)
	t.Logf("second call: %v", r.Took)
	for k, request := range sendAll(t, s, []map[string]any{arguments, arguments}) {
		r, err := request.Result(2 * time.Minute)
		right("parallel "+strconv.Itoa(k), r, err)
	}
}

// vndee/llm-sandbox#104, #94 and #152: figures of an earlier call come back.
func TestPLOT34EarlierFigures(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	needsMatplotlib(t, s)
	if r := execute(t, s, "python", caseCode(t, "PLOT-01"), 2*time.Minute); len(r.Images) != 1 {
		t.Errorf("the plot: %d images, %q", len(r.Images), r.Stderr)
	}
	if r := execute(t, s, "python", "print('no plot')", time.Minute); len(r.Images) != 0 || r.Stdout != "no plot\n" {
		t.Errorf("the call without a plot: %d images, %q", len(r.Images), r.Stdout)
	}
}

// Flux159/mcp-server-kubernetes#254, aaddrick/claude-desktop-debian#79: started by a desktop program.
func TestENV04NearlyNoEnvironment(t *testing.T) {
	t.Parallel()
	o := serverOptions(t)
	o.Env, o.Dir = []string{"PATH=/usr/bin:/bin", "BACKEND=native"}, "/"
	s := mcptest.Start(t, o)
	s.Initialize(t)
	printsOne(t, s)
}

// bytedance/SandboxFusion#65: a runtime that is not installed.
func TestENV08RuntimeMissing(t *testing.T) {
	t.Parallel()
	o := serverOptions(t)
	if _, err := exec.LookPath("Rscript"); err == nil {
		// R is here: start the server where it is not.
		hide := []string{"unshare", "--mount", "sh", "-c", `
for name in Rscript R; do for dir in /usr/bin /usr/local/bin; do
	if test -e $dir/$name; then mount --bind /dev/null $dir/$name || exit 125; fi
done; done
if test -d /usr/lib/R; then mount -t tmpfs none /usr/lib/R || exit 125; fi
exec "$0"`}
		check := exec.CommandContext(t.Context(), hide[0], append(slices.Clone(hide[1:]), "true")...)
		if out, err := check.CombinedOutput(); err != nil {
			t.Skipf("R is installed, and hiding it needs root: %v, %s", err, out)
		}
		o.Path, o.Args = hide[0], slices.Concat(hide[1:], []string{o.Path})
	}
	s := mcptest.Start(t, o)
	s.Initialize(t)
	r, err := s.Call("execute_code", map[string]any{"language": "r", "code": "cat(1)"}, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Failed() || !strings.Contains(r.Message(), "Rscript") || !strings.Contains(r.Message(), "r-base") {
		t.Errorf("want a failure that names Rscript and its package; got %+v", r)
	}
	printsOne(t, s)
}

// As TEXT-01, for the server's own paths.
func TestENV10OddPaths(t *testing.T) {
	t.Parallel()
	o := serverOptions(t)
	dir := filepath.Join(t.TempDir(), "a b ü")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "llm-sandbox-mcp")
	copyProgram(t, o.Path, copied)
	o.Path, o.Dir = copied, dir
	o.Env = append(o.Env, "TMPDIR="+dir, "HOME="+dir)
	s := mcptest.Start(t, o)
	s.Initialize(t)
	for _, id := range []string{"TEXT-01", "CPP-01"} {
		c := readCase(t, filepath.Join(casesDir, id+".txtar"))
		r, err := s.Call("execute_code", c.Arguments, 2*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range c.Expect.check(r) {
			t.Errorf("%s: %s", id, wrong)
		}
	}
	needsMatplotlib(t, s)
	if r := execute(t, s, "python", caseCode(t, "PLOT-01"), 2*time.Minute); len(r.Images) != 1 {
		t.Errorf("PLOT-01: %d images, %q", len(r.Images), r.Stderr)
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// xuzhougeng/wisp-science#911: System V and POSIX objects of one call show in the next, or on the host.
func TestSEC21SharedObjects(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	key := 0x5a000000 + time.Now().Nanosecond()%0xffffff
	name := "leak-" + oddSeconds()
	code := `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
key, name = ` + strconv.Itoa(key) + `, "` + name + `"
`
	r := execute(t, s, "python", code+`
print(libc.shmget(key, 4096, 0o1666) >= 0, libc.msgget(key, 0o1666) >= 0, libc.semget(key, 1, 0o1666) >= 0)
open("/dev/shm/" + name, "w").write("x")
`, time.Minute)
	if r.Stdout != "True True True\n" {
		t.Errorf("the first call: %q, %q", r.Stdout, r.Stderr)
	}
	r = execute(t, s, "python", code+`
print(libc.shmget(key, 0, 0) >= 0, libc.msgget(key, 0) >= 0, libc.semget(key, 0, 0) >= 0)
print(os.listdir("/dev/shm"))
`, time.Minute)
	if r.Stdout != "False False False\n[]\n" {
		t.Errorf("the second call: %q, %q", r.Stdout, r.Stderr)
	}
	for _, kind := range []string{"shm", "msg", "sem"} {
		if data, err := os.ReadFile("/proc/sysvipc/" + kind); err == nil && strings.Contains(string(data), strconv.Itoa(key)) {
			t.Errorf("%s with key %d is on the host", kind, key)
		}
	}
	if _, err := os.Stat("/dev/shm/" + name); err == nil {
		t.Errorf("/dev/shm/%s is on the host", name)
	}
}

// vndee/llm-sandbox#17, google/nsjail#71: /tmp is shared with the host.
func TestSEC25PrivateTmp(t *testing.T) {
	t.Parallel()
	canary := "host-canary-" + oddSeconds()
	if err := os.WriteFile("/tmp/"+canary, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Remove("/tmp/" + canary) }()
	written := "from-sandbox-" + oddSeconds()
	s := startServer(t)
	r := execute(t, s, "python", `
import os
print("`+canary+`" in os.listdir("/tmp"))
open("/tmp/`+written+`", "w").write("x")
`, time.Minute)
	if r.Stdout != "False\n" {
		t.Errorf("got %q, %q", r.Stdout, r.Stderr)
	}
	if _, err := os.Stat("/tmp/" + written); err == nil {
		t.Errorf("/tmp/%s is on the host", written)
	}
}
