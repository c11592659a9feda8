package all_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/all"
)

func TestNames(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"native", "docker"}, all.Names()); diff != "" {
		t.Errorf("backends of this build (-want +got):\n%s", diff)
	}
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		kind error
		says string
	}{
		{"foo", backend.ErrInvalid, `"foo" is not a valid SandboxBackend`},
		{"Native", backend.ErrInvalid, "not a valid SandboxBackend"}, // package config lowers names
		{"", backend.ErrInvalid, "not a valid SandboxBackend"},
		{"podman", backend.ErrUnavailable, "no podman backend"},
		{"kubernetes", backend.ErrUnavailable, "no kubernetes backend"},
		{"micromamba", backend.ErrUnavailable, "no micromamba backend"},
		{"bubblewrap", backend.ErrUnavailable, "no bubblewrap backend, which needs bwrap"},
		{"nsjail", backend.ErrUnavailable, "no nsjail backend"},
		{"wsl2-bubblewrap", backend.ErrUnavailable, "no wsl2-bubblewrap backend"},
		{"windows-mxc", backend.ErrUnavailable, "no windows-mxc backend"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, err := all.Open(t.Context(), test.name, all.Options{Logger: slog.New(slog.DiscardHandler)})
			if b != nil || !errors.Is(err, test.kind) {
				t.Fatalf("Open = %v, %v, want no backend and kind %v", b, err, test.kind)
			}
			for _, part := range []string{test.says, "BACKEND", "set it to one of: auto, native, docker"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestSettingsThatNativeCannotHonour(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		isolation all.Isolation
		says      string
	}{
		{"host network", all.Isolation{Network: backend.NetworkHost}, "SANDBOX_NETWORK_MODE=host"},
		{"named network", all.Isolation{Network: "my-net"}, "SANDBOX_NETWORK_MODE=my-net"},
		{"privileges", all.Isolation{Privileged: true}, "SANDBOX_PRIVILEGED=true"},
		{"no filter", opts("seccomp", "unconfined"), "SANDBOX_SECURITY_OPT=seccomp=unconfined"},
		{"own filter", opts("seccomp", "/etc/profile.json"), "SANDBOX_SECURITY_OPT=seccomp=/etc/profile.json"},
		{"new privileges", opts("no-new-privileges", "false"), "SANDBOX_SECURITY_OPT=no-new-privileges=false"},
		{"AppArmor", opts("apparmor", "unconfined"), "SANDBOX_SECURITY_OPT=apparmor=unconfined"},
		{"nonsense", opts("bogus", ""), "SANDBOX_SECURITY_OPT=bogus:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, err := all.Open(t.Context(), "native", all.Options{Logger: slog.New(slog.DiscardHandler), Isolation: test.isolation})
			if b != nil || !errors.Is(err, backend.ErrUnsupported) {
				t.Fatalf("Open = %v, %v, want ErrUnsupported", b, err)
			}
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %q does not say %q", err, test.says)
			}
		})
	}
}

func opts(name, value string) all.Isolation {
	return all.Isolation{SecurityOpts: []all.SecurityOpt{{Name: name, Value: value}}}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"native", all.Auto} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			b, err := all.Open(t.Context(), name, all.Options{
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Path:   os.Getenv("PATH"),
				Isolation: all.Isolation{
					Network: backend.NetworkNone,
					SecurityOpts: []all.SecurityOpt{
						{Name: "no-new-privileges", Value: "true"}, {Name: "no-new-privileges"}, {Name: "seccomp", Value: "builtin"},
					},
				},
			})
			if errors.Is(err, backend.ErrUnavailable) && !slices.Contains(strings.Split(os.Getenv("SANDBOX_TEST_REQUIRE"), ","), "native") {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if b.Name() != "native" || !strings.Contains(log.String(), "backend=native isolation=namespace") {
				t.Errorf("opened %s, logged %s", b.Name(), &log)
			}
			if chosen := strings.Contains(log.String(), "BACKEND is not set"); chosen != (name == all.Auto) {
				t.Errorf("logged %s", &log)
			}
			if err := b.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOpenWithDeadContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"native", all.Auto} {
		if b, err := all.Open(ctx, name, all.Options{Logger: slog.New(slog.DiscardHandler)}); err == nil {
			_ = b.Close(context.Background())
			t.Errorf("%s: opened with a dead context", name)
		}
	}
}

// TestAutoNamesAllReasons: where no backend can be used, the error says why for each.
func TestAutoNamesAllReasons(t *testing.T) {
	t.Parallel()
	b, err := all.Open(t.Context(), all.Auto, all.Options{
		Logger:    slog.New(slog.DiscardHandler),
		Isolation: all.Isolation{Network: "my-net"},
		Docker:    all.DockerEndpoint{Host: "unix:///nonexistent/docker.sock"},
	})
	if b != nil || !errors.Is(err, backend.ErrUnavailable) {
		t.Fatalf("Open = %v, %v, want unavailable", b, err)
	}
	for _, part := range []string{"SANDBOX_NETWORK_MODE=my-net", "/nonexistent/docker.sock", "doctor"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestSeccompProfilesForContainers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	whole := filepath.Join(dir, "whole.json")
	for path, text := range map[string]string{broken: "{", whole: `{"defaultAction": "SCMP_ACT_ALLOW"}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for value, test := range map[string]struct {
		kind error
		says string
	}{
		"default":                       {backend.ErrUnavailable, "/nonexistent/docker.sock"}, // taken, and then there is no engine
		"unconfined":                    {backend.ErrUnavailable, "/nonexistent/docker.sock"},
		whole:                           {backend.ErrUnavailable, "/nonexistent/docker.sock"},
		broken:                          {backend.ErrInvalid, "is not JSON"},
		filepath.Join(dir, "none.json"): {backend.ErrInvalid, "read profile"},
	} {
		b, err := all.Open(t.Context(), "docker", all.Options{
			Logger:    slog.New(slog.DiscardHandler),
			Isolation: opts("seccomp", value),
			Docker:    all.DockerEndpoint{Host: "unix:///nonexistent/docker.sock"},
		})
		if b != nil || !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, %v; want kind %v and %q", value, b, err, test.kind, test.says)
		}
	}
}
