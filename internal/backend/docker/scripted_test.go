package docker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/docker"
)

// scripted is an engine that a test plays, for faults that a real one cannot be brought to. It returns a
// backend that talks to it.
func scripted(t *testing.T, answer http.Handler, log ...logged) *docker.Backend {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "unix", path)
	if err != nil {
		t.Skipf("no unix sockets here: %v", err)
	}
	server := &http.Server{Handler: answer, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	logger := slog.New(slog.DiscardHandler)
	for _, l := range log {
		logger = slog.New(slog.NewTextHandler(l, nil))
	}
	b := docker.New(docker.Options{
		Logger:   logger,
		Endpoint: docker.Endpoint{Host: "unix://" + path},
		Agent:    func(string) ([]byte, error) { return []byte("agent"), nil },
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		_ = server.Close()
	})
	return b
}

// pages answer requests by the end of their path; what has no page gets an empty list.
func pages(version string, answers map[string]func(http.ResponseWriter, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", version)
		for end, answer := range answers {
			if strings.HasSuffix(r.URL.Path, end) {
				answer(w, r)
				return
			}
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/info"):
			fmt.Fprint(w, `{"OSType": "linux", "Architecture": "aarch64", "MemoryLimit": true, "CpuCfsQuota": true, "PidsLimit": true, "CgroupDriver": "systemd"}`)
		case strings.Contains(r.URL.Path, "/images/"):
			fmt.Fprint(w, `{}`)
		case strings.HasSuffix(r.URL.Path, "/events"):
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			fmt.Fprint(w, `[]`)
		}
	})
}

func text(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestEnginesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler http.Handler
		says    string
	}{
		"too old":      {pages("1.40", nil), "speaks API 1.40, and 1.41 is needed"},
		"no engine":    {text2(http.StatusOK, "<html>welcome</html>"), "is no engine"},
		"broken":       {text2(http.StatusInternalServerError, `{"message": "out of inodes"}`), "out of inodes"},
		"windows":      {pages("1.45", map[string]func(http.ResponseWriter, *http.Request){"/info": text(200, `{"OSType": "windows"}`)}), "switch it to Linux containers"},
		"garbage":      {pages("1.45", map[string]func(http.ResponseWriter, *http.Request){"/info": text(200, `{"OSType": [`)}), "look"},
		"refused":      {pages("1.45", map[string]func(http.ResponseWriter, *http.Request){"/info": text(403, `{"message": "access denied by plugin"}`)}), "access denied by plugin"},
		"sends onward": {http.RedirectHandler("http://192.0.2.1/", http.StatusFound), "is no engine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := scripted(t, test.handler)
			err := b.Probe(t.Context())
			if !errors.Is(err, backend.ErrUnavailable) {
				t.Fatalf("got %v, want unavailable", err)
			}
			if test.says != "look" && !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %q does not say %q", err, test.says)
			}
		})
	}
}

func text2(status int, body string) http.Handler { return http.HandlerFunc(text(status, body)) }

// TestEngineThatHangs accepts connections and says nothing.
func TestEngineThatHangs(t *testing.T) {
	t.Parallel()
	b := scripted(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := b.Probe(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the answer took %v", took)
	}
}

// TestVersions: an engine of the future gets the newest version that this client knows.
func TestVersions(t *testing.T) {
	t.Parallel()
	for has, want := range map[string]string{"1.41": "/v1.41/", "1.47": "/v1.47/", "1.99": "/v1.51/", "2.0": "/v1.51/"} {
		t.Run(has, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 10)
			b := scripted(t, pages(has, map[string]func(http.ResponseWriter, *http.Request){
				"/info": func(w http.ResponseWriter, r *http.Request) {
					asked <- r.URL.Path
					fmt.Fprint(w, `{"OSType": "linux"}`)
				},
			}))
			if err := b.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			if path := <-asked; path != want+"info" {
				t.Errorf("asked for %s, want version %s", path, want)
			}
		})
	}
}

// TestRootlessWithoutControlGroups accepts limits and has none.
func TestRootlessWithoutControlGroups(t *testing.T) {
	t.Parallel()
	b := scripted(t, pages("1.45", map[string]func(http.ResponseWriter, *http.Request){
		"/info": text(200, `{"OSType": "linux", "MemoryLimit": true, "CpuCfsQuota": true, "PidsLimit": true, "CgroupDriver": "none"}`),
	}))
	if c := b.Capabilities(); c.Memory || c.CPU || c.Processes || !c.Images {
		t.Errorf("promises %+v", c)
	}
}

// TestFaultsOfAnEngine are answers in the middle of a launch.
func TestFaultsOfAnEngine(t *testing.T) {
	t.Parallel()
	missing := text(404, `{"message": "No such image: x:1"}`)
	created := text(201, `{"Id": "0123456789ab"}`)
	type answers = map[string]func(http.ResponseWriter, *http.Request)
	for name, test := range map[string]struct {
		answers answers
		kind    error
		says    string
	}{
		"image is nowhere": {
			answers{"/x:1/json": missing, "/containers/create": missing, "/images/create": text(404, `{"message": "manifest unknown"}`)},
			backend.ErrNotFound, "image x:1 is not there, and downloading it failed: manifest unknown",
		},
		"download breaks": {
			answers{"/x:1/json": missing, "/containers/create": missing, "/images/create": text(200, `{"status": "Pulling"}{"error": "connection reset by peer"}`)},
			backend.ErrUnavailable, "connection reset by peer",
		},
		"download says nonsense": {
			answers{"/x:1/json": missing, "/containers/create": missing, "/images/create": text(200, `{"status": `)},
			backend.ErrUnavailable, "unexpected EOF",
		},
		"image vanishes": {
			answers{"/x:1/json": missing, "/containers/create": missing, "/images/create": text(200, `{"status": "done"}`)},
			backend.ErrUnavailable, "No such image",
		},
		"image vanishes later": {
			answers{"/containers/create": missing, "/images/create": text(200, `{"status": "done"}`)},
			backend.ErrUnavailable, "create container: No such image",
		},
		"no attachment": {
			answers{"/containers/create": created, "/archive": text(200, ``), "/attach": text(409, `{"message": "container is paused"}`)},
			backend.ErrUnavailable, "container is paused",
		},
		"a setting is wrong": {
			answers{"/containers/create": text(400, `{"message": "invalid --security-opt"}`)},
			backend.ErrInvalid, "invalid --security-opt; correct the SANDBOX_ variable",
		},
		"no room for the agent": {
			answers{"/containers/create": created, "/archive": func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					w.WriteHeader(404)
					return
				}
				text(500, `{"message": "no space left on device"}`)(w, r)
			}},
			backend.ErrUnavailable, "no space left on device",
		},
		"no stream": {
			answers{"/containers/create": created, "/archive": text(200, ``), "/attach": text(200, `hello`)},
			backend.ErrUnavailable, "instead of opening a stream",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := scripted(t, pages("1.45", test.answers))
			s, err := b.Create(t.Context(), backend.Spec{Image: "x:1"})
			if s != nil || !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, %v; want kind %v and %q", s, err, test.kind, test.says)
			}
		})
	}
}

// TestRefusedSpecs never reach an engine.
func TestRefusedSpecs(t *testing.T) {
	t.Parallel()
	b := docker.New(docker.Options{Logger: slog.New(slog.DiscardHandler), Endpoint: docker.Endpoint{Host: "unix:///nonexistent"}})
	for name, test := range map[string]struct {
		spec backend.Spec
		kind error
	}{
		"no image":                  {backend.Spec{}, backend.ErrInvalid},
		"runtime of the host":       {backend.Spec{Image: "x", Runtime: "python"}, backend.ErrUnsupported},
		"prefix":                    {backend.Spec{Image: "x", Prefix: "/p"}, backend.ErrUnsupported},
		"working directory is root": {backend.Spec{Image: "x", WorkDir: "/"}, backend.ErrInvalid},
		"working directory in proc": {backend.Spec{Image: "x", WorkDir: "/proc/x"}, backend.ErrInvalid},
		"relative":                  {backend.Spec{Image: "x", WorkDir: "work"}, backend.ErrInvalid},
		"no engine":                 {backend.Spec{Image: "x"}, backend.ErrUnavailable},
	} {
		if s, err := b.Create(t.Context(), test.spec); s != nil || !errors.Is(err, test.kind) {
			t.Errorf("%s: got %v, %v; want %v", name, s, err, test.kind)
		}
	}
}

// TestRemovalIsWaitedFor: an engine that is at it already is believed only when it says that it is done.
func TestRemovalIsWaitedFor(t *testing.T) {
	t.Parallel()
	type answers = map[string]func(http.ResponseWriter, *http.Request)
	for name, test := range map[string]struct {
		wait func(http.ResponseWriter, *http.Request)
		says string
	}{
		"it fails": {text(200, `{"StatusCode": 0, "Error": {"Message": "device or resource busy"}}`), "device or resource busy"},
		"it breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "EOF"},
		"it is gone": {text(404, `{"message": "No such container"}`), ""},
		"it is done": {text(200, `{"StatusCode": 137}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			removed := make(chan error, 1)
			b := scripted(t, pages("1.45", answers{
				"/containers/0123456789ab": text(409, `{"message": "removal of container is already in progress"}`),
				"/wait":                    test.wait,
				"/containers/json":         text(200, `[{"Id": "0123456789ab", "State": "dead"}]`),
			}), func(text string) {
				select {
				case removed <- errors.New(text):
				default:
				}
			})
			if err := b.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			patience := 20 * time.Second
			if test.says == "" {
				patience = 300 * time.Millisecond // for what must not come
			}
			timer := time.NewTimer(patience)
			defer timer.Stop()
			select {
			case err := <-removed:
				if test.says == "" || !strings.Contains(err.Error(), test.says) {
					t.Errorf("warned %v, want %q", err, test.says)
				}
			case <-timer.C:
				if test.says != "" {
					t.Errorf("nothing was said, want %q", test.says)
				}
			}
		})
	}
}

// A logged hands on what is logged.
type logged func(text string)

// Write implements io.Writer.
func (l logged) Write(p []byte) (int, error) {
	l(string(p))
	return len(p), nil
}
