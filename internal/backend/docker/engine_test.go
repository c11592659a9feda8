package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/docker"
)

// needEngine skips a test where there is none, unless it is required.
func needEngine(t testing.TB) {
	t.Helper()
	if host() != "" {
		return
	}
	if strings.Contains(","+os.Getenv("SANDBOX_TEST_REQUIRE")+",", ",docker,") {
		t.Fatal("docker is required, and SANDBOX_TEST_DOCKER does not say where: scripts/test-docker.sh start")
	}
	t.Skip("needs an engine: scripts/test-docker.sh run go test ./internal/backend/docker")
}

// onEngine returns a backend on the real engine, and a client of the same for what a test does behind the
// backend's back.
func onEngine(t testing.TB) (*docker.Backend, *api.Client) {
	t.Helper()
	needEngine(t)
	b := docker.New(options(t))
	network, path, _ := strings.Cut(host(), "://")
	engine := api.New(api.Address{Network: network, Path: path})
	t.Cleanup(func() {
		engine.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := engine.Hello(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return b, engine
}

func create(t testing.TB, b backend.Backend, spec backend.Spec) backend.Sandbox {
	t.Helper()
	s, err := b.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start starts a shell in a sandbox and returns when the script has printed its first line.
func start(t testing.TB, s backend.Sandbox, script string) backend.Process {
	t.Helper()
	r, w := io.Pipe()
	p, err := s.Start(t.Context(), backend.Command{
		Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: w,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	return p
}

func prints(t testing.TB, s backend.Sandbox, want string) {
	t.Helper()
	var out bytes.Buffer
	p, err := s.Start(t.Context(), backend.Command{Args: []string{"/bin/echo", want}, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 || out.String() != want+"\n" {
		t.Errorf("got %q, %+v, %v", out.String(), exit, err)
	}
}

// TestImageWithoutAnything pulls an image from a registry that holds an empty directory and nothing else.
func TestImageWithoutAnything(t *testing.T) {
	t.Parallel()
	b, _ := onEngine(t)
	name := os.Getenv("SANDBOX_TEST_REGISTRY") + "/llm-sandbox-test/empty:1"
	forget := func() { _ = exec.Command("docker", "--host", host(), "image", "rm", "-f", name).Run() }
	forget()
	t.Cleanup(forget)
	if has, err := b.HasImage(t.Context(), name); err != nil || has {
		t.Fatalf("the engine has %s already: %v, %v", name, has, err)
	}
	s := create(t, b, backend.Spec{Image: name})
	archive := []byte("a\x00")
	if err := s.CopyIn(t.Context(), "/tmp", bytes.NewReader(archive)); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("the agent takes %q for an archive: %v", archive, err)
	}
	_, err := s.Start(t.Context(), backend.Command{Args: []string{"/bin/sh"}})
	if !errors.Is(err, backend.ErrNotFound) {
		t.Errorf("start a shell that is not there: %v", err)
	}
	if has, err := b.HasImage(t.Context(), name); err != nil || !has {
		t.Errorf("the image was pulled and is not there: %v", err)
	}
}

func TestImageThatIsNowhere(t *testing.T) {
	t.Parallel()
	b, _ := onEngine(t)
	name := os.Getenv("SANDBOX_TEST_REGISTRY") + "/llm-sandbox-test/none:1"
	_, err := b.Create(t.Context(), backend.Spec{Image: name})
	if !errors.Is(err, backend.ErrNotFound) && !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "SANDBOX_IMAGE_") {
		t.Errorf("got %v", err)
	}
}

// TestKilledFromOutside is what `docker rm -f` does to a program, and to nothing else.
func TestKilledFromOutside(t *testing.T) {
	t.Parallel()
	b, engine := onEngine(t)
	s := create(t, b, backend.Spec{Image: image})
	p := start(t, s, "echo x; sleep 60")
	if err := engine.RemoveContainer(t.Context(), "llm-sandbox-"+s.ID()); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "the sandbox has ended") {
		t.Errorf("the program: %+v, %v", exit, err)
	}
	if _, err := s.Start(t.Context(), backend.Command{Args: []string{"/bin/true"}}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("the next program: %v", err)
	}
	prints(t, create(t, b, backend.Spec{Image: image}), "next")
}

// TestVolumeRemoved: somebody tidies the engine up while the server runs. It is not parallel: a volume can
// be removed only while nobody uses it.
func TestVolumeRemoved(t *testing.T) {
	b, _ := onEngine(t)
	if err := create(t, b, backend.Spec{Image: image}).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	agent, err := agentBinary(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(agent)
	volume := fmt.Sprintf("llm-sandbox-agent-%s-%x", runtime.GOARCH, sum[:6])
	if out, err := exec.CommandContext(t.Context(), "docker", "--host", host(), "volume", "rm", volume).CombinedOutput(); err != nil {
		t.Fatalf("remove the volume: %v, %s", err, out)
	}
	prints(t, create(t, b, backend.Spec{Image: image}), "again")
}

// TestTidy: what dead servers left goes when a server starts, and what others are about to start stays.
func TestTidy(t *testing.T) {
	t.Parallel()
	_, engine := onEngine(t)
	labels := map[string]string{"llm-sandbox.role": "sandbox"}
	made := map[string]string{}
	for name, entrypoint := range map[string]string{"ended": "/bin/true", "young": "/bin/true", "stranger": "/bin/true"} {
		c := &api.Container{Image: image, Entrypoint: []string{entrypoint}, Labels: labels, HostConfig: api.HostConfig{NetworkMode: "none"}}
		if name == "stranger" {
			c.Labels = nil
		}
		id, err := engine.CreateContainer(t.Context(), "tidy-"+name+"-"+rand.Text(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = engine.RemoveContainer(context.WithoutCancel(t.Context()), id) })
		made[name] = id
	}
	for _, name := range []string{"ended", "stranger"} {
		if err := engine.StartContainer(t.Context(), made[name]); err != nil {
			t.Fatal(err)
		}
	}
	state := func(name string) string {
		list, err := engine.Containers(t.Context(), api.Filters{"id": {made[name]}})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return "gone"
		}
		return list[0].State
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-tick.C {
		if now := state("ended"); now == "exited" || now == "gone" { // servers of other tests tidy as well
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the container of a dead server is %s", state("ended"))
		}
	}
	next := docker.New(options(t))
	defer next.Close(context.WithoutCancel(t.Context()))
	if err := next.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); state("ended") != "gone"; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("the container of a dead server is still %s", state("ended"))
		}
	}
	for _, name := range []string{"young", "stranger"} {
		if state(name) == "gone" {
			t.Errorf("%s is gone", name)
		}
	}
}

// TestVolumesOfImages: what an image declares to be a volume is a directory of the sandbox, with its limit,
// and not on the engine's disk.
func TestVolumesOfImages(t *testing.T) {
	t.Parallel()
	b, _ := onEngine(t)
	const name = "llm-sandbox-test/volumes"
	load := exec.CommandContext(t.Context(), "docker", "--host", host(), "import", "--change", "VOLUME /data", "--change", "VOLUME /tmp", "-", name)
	load.Stdin = bytes.NewReader(make([]byte, 1024)) // an empty archive
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("import: %v, %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "--host", host(), "image", "rm", "-f", name).Run() })
	s := create(t, b, backend.Spec{Image: name, Limits: backend.Limits{Disk: 1 << 20}})
	for _, dir := range []string{"/data", "/tmp"} {
		for size, fits := range map[int]bool{1 << 10: true, 2 << 20: false} {
			var packed bytes.Buffer
			w := tar.NewWriter(&packed)
			err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "f", Mode: 0o644, Size: int64(size)})
			if err == nil {
				_, err = w.Write(make([]byte, size))
			}
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			if err := s.CopyIn(t.Context(), dir, &packed); (err == nil) != fits {
				t.Errorf("a file of %d bytes in %s: %v", size, dir, err)
			}
		}
	}
}

// TestTLS connects over TCP with certificates of an authority of its own.
func TestTLS(t *testing.T) {
	t.Parallel()
	needEngine(t)
	address, certs := os.Getenv("SANDBOX_TEST_DOCKER_TLS"), os.Getenv("SANDBOX_TEST_DOCKER_CERTS")
	mixed := t.TempDir() // the right certificate, and an authority that has not signed the engine's
	for name, from := range map[string]string{"cert.pem": "client", "key.pem": "client", "ca.pem": "stranger"} {
		text, err := os.ReadFile(filepath.Join(certs, from, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(mixed, name), string(text))
	}
	for name, test := range map[string]struct {
		verify, certs string
		kind          error
	}{
		"right":                          {"1", filepath.Join(certs, "client"), nil},
		"right, engine not checked":      {"", mixed, nil},
		"engine of another authority":    {"1", mixed, backend.ErrUnavailable},
		"client of another authority":    {"", filepath.Join(certs, "stranger"), backend.ErrUnavailable},
		"without encryption":             {"", "", backend.ErrUnavailable},
		"directory without certificates": {"1", t.TempDir(), backend.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			o.Endpoint = docker.Endpoint{Host: address, TLSVerify: test.verify, CertPath: test.certs}
			b := docker.New(o)
			defer b.Close(t.Context())
			err := b.Probe(t.Context())
			if !errors.Is(err, test.kind) || (err == nil) != (test.kind == nil) {
				t.Fatalf("got %v, want %v", err, test.kind)
			}
			if err == nil {
				prints(t, create(t, b, backend.Spec{Image: image}), "over TLS")
			}
		})
	}
}

// TestPrivileged: what users loosen is loose, and results say so. What the engine is told is in TestBody;
// to start such a container takes more privileges than a test machine may have.
func TestPrivileged(t *testing.T) {
	t.Parallel()
	needEngine(t)
	o := options(t)
	o.Hardening = docker.Hardening{Privileged: true}
	b := docker.New(o)
	defer b.Close(context.WithoutCancel(t.Context()))
	if isolation := b.Capabilities().Isolation; isolation != "none" {
		t.Errorf("isolation is %q", isolation)
	}
}
