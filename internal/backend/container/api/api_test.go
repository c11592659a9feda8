package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen returns a socket and its path.
func listen(t *testing.T) (net.Listener, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "unix", path)
	if err != nil {
		t.Skipf("no unix sockets here: %v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

// serve returns a client of an engine that the test plays.
func serve(t *testing.T, handler http.HandlerFunc) *api.Client {
	t.Helper()
	l, path := listen(t)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	client := api.New(api.Address{Network: "unix", Path: path})
	t.Cleanup(func() {
		client.Close()
		_ = server.Close()
	})
	return client
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		is     error
		says   string
	}{
		"a message":       {404, `{"message": "No such image: x"}`, api.ErrNotFound, "No such image: x"},
		"a taken name":    {409, `{"message": "in use"}`, api.ErrConflict, "in use"},
		"a wrong setting": {400, `{"message": "bad"}`, api.ErrInvalid, "bad"},
		"plain text":      {500, "out of order\n", nil, "out of order"},
		"nothing":         {503, "", nil, "503 Service Unavailable"},
		"without end":     {500, strings.Repeat("x", 1<<20), nil, "xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			})
			_, err := client.CreateContainer(t.Context(), "x", &api.Container{})
			if err == nil || !strings.Contains(err.Error(), test.says) || len(err.Error()) > 70_000 {
				t.Fatalf("got %.200v, want %q", err, test.says)
			}
			for _, kind := range []error{api.ErrNotFound, api.ErrConflict, api.ErrInvalid} {
				if errors.Is(err, kind) != (kind == test.is) { //nolint:errorlint // the very same
					t.Errorf("errors.Is(%v, status %v) is wrong", err, kind)
				}
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	client := api.New(api.Address{Network: "unix", Path: "/nonexistent/docker.sock"})
	err := client.Hello(t.Context(), "")
	if _, ok := errors.AsType[*api.ConnectionError](err); !ok || !strings.Contains(err.Error(), "/nonexistent/docker.sock") {
		t.Errorf("got %v", err)
	}
	if strings.Contains(err.Error(), "engine/") {
		t.Errorf("the error shows an address that is made up: %v", err)
	}
}

func TestPullAsksForOneTag(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"python":                             "fromImage=python&tag=latest",
		"python:3.13":                        "fromImage=python%3A3.13",
		"127.0.0.1:5000/a/b":                 "fromImage=127.0.0.1%3A5000%2Fa%2Fb&tag=latest",
		"127.0.0.1:5000/a/b:1":               "fromImage=127.0.0.1%3A5000%2Fa%2Fb%3A1",
		"a@sha256:" + strings.Repeat("0", 8): "fromImage=a%40sha256%3A00000000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 1)
			client := serve(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.RawQuery })
			if err := client.Pull(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if got := <-asked; got != want {
				t.Errorf("asked for %s, want %s", got, want)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("filters"); got != `{"event":["oom","die"]}` {
			t.Errorf("filters %s", got)
		}
		fmt.Fprint(w, `{"Action":"oom","Actor":{"ID":"a"}}`+"\n"+`{"Action":"die","Actor":{"ID":"a"}}`)
	})
	var got []string
	err := client.Events(t.Context(), api.Filters{"event": {"oom", "die"}}, func(e api.Event) { got = append(got, e.Action+" "+e.Actor.ID) })
	if !errors.Is(err, io.EOF) || strings.Join(got, ", ") != "oom a, die a" {
		t.Errorf("got %q, %v", got, err)
	}
}

// frame is a piece of a stream as an engine sends it.
func frame(to byte, data string) []byte {
	b := append([]byte{to, 0, 0, 0}, binary.BigEndian.AppendUint32(nil, uint32(len(data)))...)
	return append(b, data...)
}

// attached returns a stream on which the engine sends sent and then hangs up, and what it was sent.
func attached(t *testing.T, sent []byte, stderr io.Writer) (*api.Stream, <-chan string) {
	t.Helper()
	l, path := listen(t)
	heard := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		reader := bufio.NewReader(conn)
		request, err := http.ReadRequest(reader)
		if err != nil || request.Header.Get("Upgrade") != "tcp" {
			t.Errorf("request %v, %v", request, err)
			return
		}
		_, _ = conn.Write(append([]byte("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"), sent...))
		if unix, ok := conn.(*net.UnixConn); ok {
			_ = unix.CloseWrite()
		}
		all, _ := io.ReadAll(reader)
		heard <- string(all)
	}()
	stream, err := api.New(api.Address{Network: "unix", Path: path}).Attach(t.Context(), "x", stderr)
	if err != nil {
		t.Fatal(err)
	}
	return stream, heard
}

func TestStream(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	sent := bytes.Join([][]byte{frame(1, "one "), frame(2, "wrong\n"), frame(1, ""), frame(1, strings.Repeat("x", 200_000)), frame(2, "again\n"), frame(1, " end")}, nil)
	stream, heard := attached(t, sent, &stderr)
	got, err := io.ReadAll(stream)
	if want := "one " + strings.Repeat("x", 200_000) + " end"; err != nil || string(got) != want {
		t.Errorf("read %d bytes, %v; want %d", len(got), err, len(want))
	}
	if stderr.String() != "wrong\nagain\n" {
		t.Errorf("stderr %q", &stderr)
	}
	if _, err := stream.Write([]byte("input")); err != nil {
		t.Error(err)
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
	if got := <-heard; got != "input" {
		t.Errorf("the engine heard %q", got)
	}
}

func TestAttachIsRefused(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(404)
		fmt.Fprint(w, `{"message": "No such container: x"}`)
	})
	if _, err := client.Attach(t.Context(), "x", io.Discard); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestAttachGivesUp: an engine that does not answer is not waited for longer than the context says.
func TestAttachGivesUp(t *testing.T) {
	t.Parallel()
	_, path := listen(t) // nobody accepts
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := api.New(api.Address{Network: "unix", Path: path}).Attach(ctx, "x", io.Discard); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// FuzzStream reads whatever an engine may send: no panic, and never more than was sent.
func FuzzStream(f *testing.F) {
	f.Add(frame(1, "text"))
	f.Add(append(frame(2, "text"), 1, 0, 0))
	f.Add([]byte{1, 0, 0, 0, 255, 255, 255, 255, 'x'})
	f.Fuzz(func(t *testing.T, sent []byte) {
		var stderr bytes.Buffer
		got, _ := io.ReadAll(api.NewStream(bytes.NewReader(sent), &stderr))
		if len(got)+stderr.Len() > len(sent) {
			t.Errorf("%d bytes came of %d", len(got)+stderr.Len(), len(sent))
		}
	})
}
