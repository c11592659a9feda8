//go:build linux

package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// dockerImage is what scripts/test-docker.sh brings the engine: Debian with Python.
const dockerImage = "llm-sandbox-test/python"

// dockerHost is the engine of the tests.
func dockerHost(t testing.TB) string {
	t.Helper()
	host := os.Getenv("SANDBOX_TEST_DOCKER")
	if host == "" {
		if slices.Contains(strings.Split(os.Getenv("SANDBOX_TEST_REQUIRE"), ","), "docker") {
			t.Fatal("docker is required, and SANDBOX_TEST_DOCKER does not say where: scripts/test-docker.sh start")
		}
		t.Skip("needs an engine: scripts/test-docker.sh run go test ./cmd/llm-sandbox-mcp")
	}
	return host
}

// startDocker starts a server on the engine of the tests.
func startDocker(t testing.TB, env ...string) *mcptest.Server {
	t.Helper()
	return startServer(t, append([]string{
		"BACKEND=docker", "DOCKER_HOST=" + dockerHost(t), "SANDBOX_IMAGE_PYTHON=" + dockerImage,
	}, env...)...)
}

// TestCasesOnDocker makes the calls in Python, and those that run nothing, on a real engine.
func TestCasesOnDocker(t *testing.T) {
	t.Parallel()
	dockerHost(t)
	cases := slices.DeleteFunc(readCases(t, "docker"), func(c failureCase) bool {
		language, _ := c.Arguments["language"].(string)
		python := slices.Contains([]string{"", "python", "py"}, strings.ToLower(language))
		// The image has no libraries and no other language.
		lacks := slices.ContainsFunc(c.Needs, func(need string) bool { return strings.Contains(need, ":") || need == "r" || need == "ruby" })
		return c.Tool == "execute_code" && !python || lacks || c.Env["BACKEND"] != "" && c.Env["BACKEND"] != "docker"
	})
	runCases(t, cases, startDocker, "disk limit") // which docs/backends.md says that it lacks
}

// TestHostileProgramsOnDocker runs those in Python against a real engine.
func TestHostileProgramsOnDocker(t *testing.T) {
	t.Parallel()
	dockerHost(t)
	runHostile(t, "python", startDocker, "disk limit")
}

// TestDockerResult looks at what only containers have in their results.
func TestDockerResult(t *testing.T) {
	t.Parallel()
	s := startDocker(t)
	r := execute(t, s, "python", `
import os
open("table.csv", "w").write("a,b\n1,2\n")
os.makedirs("/tmp/x", exist_ok=True)
print(os.getuid(), os.getcwd(), os.environ["HOME"], sorted(k for k in os.environ if "DOCKER" in k or "SECRET" in k))
`, time.Minute)
	if r.ExitCode != 0 || r.Stdout != "1000 /sandbox /home/sandbox []\n" {
		t.Errorf("exit code %d, stdout %q, stderr %q", r.ExitCode, r.Stdout, r.Stderr)
	}
	for field, want := range map[string]string{"backend": "docker", "isolation": "container", "status": "ok"} {
		if r.Fields[field] != want {
			t.Errorf("%s is %v, want %s", field, r.Fields[field], want)
		}
	}
	if fmt.Sprint(r.Fields["unenforced_limits"]) != "[disk]" {
		t.Errorf("limits that are not enforced: %v, want disk alone", r.Fields["unenforced_limits"])
	}
	if artifacts, _ := r.Fields["artifacts"].([]any); len(artifacts) != 1 {
		t.Errorf("artifacts: %v, want table.csv", r.Fields["artifacts"])
	}
	// A library that the image lacks is refused with what the operator can do about it.
	refused, err := s.Call("execute_code", map[string]any{"code": "import numpy", "libraries": []string{"numpy"}}, time.Minute)
	if err != nil || !strings.Contains(refused.Message(), "SANDBOX_IMAGE_PYTHON") {
		t.Errorf("a library that the image lacks: %v, %.300s", err, refused.Text)
	}
}

// TestDockerDetailsDownloadNothing: to describe languages, images must be there already.
func TestDockerDetailsDownloadNothing(t *testing.T) {
	t.Parallel()
	s := startDocker(t, "SANDBOX_IMAGE_RUBY="+os.Getenv("SANDBOX_TEST_REGISTRY")+"/llm-sandbox-test/none:1")
	for language, version := range map[string]string{"python": `"version": "3.`, "ruby": "Ruby 3.4"} {
		r, err := s.Call("get_language_details", map[string]any{"language": language}, time.Minute)
		if err != nil || !strings.Contains(r.Text, version) {
			t.Errorf("%s: %v, %.200s; want version %s", language, err, r.Text, version)
		}
	}
	if strings.Contains(s.Stderr(), "downloading") {
		t.Errorf("an image was downloaded:\n%s", s.Stderr())
	}
}

// TestCrashOnDocker kills the server at random moments. Within ten seconds no container may be left.
func TestCrashOnDocker(t *testing.T) {
	t.Parallel()
	network, path, _ := strings.Cut(dockerHost(t), "://")
	engine := api.New(api.Address{Network: network, Path: path})
	defer engine.Close()
	if err := engine.Hello(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for n := range max(*crashes/4, 1) {
		s := startDocker(t)
		printsOne(t, s)
		mark := oddSeconds()
		for k := range 3 {
			code := fmt.Sprintf(busy[k], mark)
			if _, err := s.SendCall("execute_code", map[string]any{"code": code, "timeout": 600}); err != nil {
				t.Fatal(err)
			}
		}
		time.AfterFunc(time.Duration(rand.Int64N(int64(2*time.Second))), func() { _ = s.Signal(syscall.SIGKILL) })
		if err := s.WaitExit(20 * time.Second); err != nil {
			t.Fatal(err)
		}
		if !eventually(10*time.Second, func() bool { return !someoneHasArgument(mark) }) {
			t.Fatalf("crash %d: ten seconds later a program still runs", n)
		}
	}
	// Those of other tests run, or have ended and are being removed. What was made and not yet started when its
	// server died is left to the next server, see TestTidy.
	ended := func() (ids []string) {
		list, err := engine.Containers(t.Context(), api.Filters{"label": {"llm-sandbox.role"}, "status": {"exited", "dead"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			ids = append(ids, c.ID)
		}
		return ids
	}
	if !eventually(10*time.Second, func() bool { return len(ended()) == 0 }) {
		t.Errorf("containers that have ended are left: %q", ended())
	}
}

// TestServerIsAnAgent: under the agent's name the server's own file is one.
func TestServerIsAnAgent(t *testing.T) {
	t.Parallel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "sandbox-agent")
	if err := os.Symlink(path, name); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), name, "-version").CombinedOutput()
	if err != nil || string(out) != "1\n" {
		t.Errorf("got %q, %v; want the version of the protocol", out, err)
	}
}

// BenchmarkDocker is print(1) in a fresh container, from the call to the answer, and the same with
// Docker's own client: `docker run --rm`.
func BenchmarkDocker(b *testing.B) {
	host := dockerHost(b)
	b.Run("call", func(b *testing.B) {
		s := startDocker(b)
		printsOne(b, s)
		for b.Loop() {
			if r, err := s.Call("execute_code", map[string]any{"code": "print(1)"}, time.Minute); err != nil || r.Stdout != "1\n" {
				b.Fatal(err, r.Text)
			}
		}
	})
	b.Run("docker run", func(b *testing.B) {
		for b.Loop() {
			run := exec.CommandContext(b.Context(), "docker", "--host", host, "run", "--rm", "--network", "none", dockerImage, "python3", "-c", "print(1)")
			if out, err := run.Output(); err != nil || string(out) != "1\n" {
				b.Fatal(err, string(out))
			}
		}
	})
}
