package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/client"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play gives a client whose other end is run by the test: each stream goes to serve.
func play(t *testing.T, serve func(*agent.Reader, *agent.Writer)) *client.Client {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		greeting := make([]byte, agent.GreetingSize)
		_, _ = io.ReadFull(theirs, greeting)
		_, _ = theirs.Write(agent.Greeting())
		session, err := agent.Server(theirs)
		if err != nil {
			return
		}
		for {
			stream, err := session.AcceptStream()
			if err != nil {
				return
			}
			go func() {
				serve(agent.NewReader(stream), agent.NewWriter(stream))
				_ = stream.Close()
			}()
		}
	}()
	c, err := client.New(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = theirs.Close()
	})
	return c
}

func TestGreeting(t *testing.T) {
	for name, test := range map[string]struct{ answer, want string }{
		"another version": {"sandbox-agent\n\x00\x63", "version 99"},
		"a shell":         {"bash: line 1: sandbox-agent: command not found\n", `"bash: line 1: sandbox-agent: command not found"`},
		"a short remark":  {"no\n", `"no"`},
		"nothing":         {"", "EOF"},
		"no end":          {strings.Repeat("x", 1<<20), "xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			go func() {
				_, _ = io.CopyN(io.Discard, theirs, int64(agent.GreetingSize))
				_, _ = io.WriteString(theirs, test.answer)
				if len(test.answer) < 1<<20 {
					_ = theirs.Close()
				}
			}()
			_, err := client.New(t.Context(), ours)
			if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 8<<10 {
				t.Errorf("got %v, want one with %q", err, test.want)
			}
			_ = theirs.Close()
		})
	}
}

func TestSilenceEndsWithTheContext(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	go io.Copy(io.Discard, theirs) //nolint:errcheck // until it is closed
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := client.New(ctx, ours); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// A supervisor that programs keep from working must not keep the server waiting.
func TestDeadlineWithoutAnAnswer(t *testing.T) {
	c := play(t, func(r *agent.Reader, w *agent.Writer) {
		_, _, _ = r.Next()
		_ = w.Write(agent.TypeStarted, nil)
		_ = w.Write(agent.TypeStdout, []byte("before\n"))
		_, _, _ = r.Next() // until the client gives up
	})
	var out bytes.Buffer
	p, err := c.Start(t.Context(), backend.Command{Args: []string{"x"}, Stdout: &out, Timeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil || exit.Outcome != backend.TimedOut || exit.Code != backend.CodeTimedOut || out.String() != "before\n" {
		t.Errorf("got %+v, %v, output %q", exit, err, out.String())
	}
}

func TestLies(t *testing.T) {
	started := func(w *agent.Writer) { _ = w.Write(agent.TypeStarted, nil) }
	for name, serve := range map[string]func(*agent.Reader, *agent.Writer){
		"an end without a beginning": func(_ *agent.Reader, w *agent.Writer) {
			_ = w.Write(agent.TypeExit, agent.Encode(&agent.Exit{}))
		},
		"output nobody asked for": func(_ *agent.Reader, w *agent.Writer) {
			started(w)
			_ = w.Write(agent.TypeStderr, []byte("x"))
		},
		"a damaged end": func(_ *agent.Reader, w *agent.Writer) {
			started(w)
			_ = w.Write(agent.TypeExit, []byte{255, 255, 255})
		},
		"an archive": func(_ *agent.Reader, w *agent.Writer) {
			started(w)
			_ = w.Write(agent.TypeData, []byte("x"))
		},
		"silence and the end": func(*agent.Reader, *agent.Writer) {},
	} {
		t.Run(name, func(t *testing.T) {
			c := play(t, func(r *agent.Reader, w *agent.Writer) {
				_, _, _ = r.Next()
				serve(r, w)
			})
			p, err := c.Start(t.Context(), backend.Command{Args: []string{"x"}, Stdout: io.Discard})
			if err == nil {
				_, err = p.Wait()
			}
			if err == nil {
				t.Error("the lie was believed")
			}
		})
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	c := play(t, func(r *agent.Reader, w *agent.Writer) {
		_, _, _ = r.Next()
		_ = w.Write(agent.TypeError, agent.EncodeFailure(backend.Wrap(backend.ErrRefused, errors.New("copy in: no"))))
	})
	if err := c.CopyIn(t.Context(), "/x", strings.NewReader("")); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("copy in: got %v, want a refusal", err)
	}
	if _, err := c.Start(t.Context(), backend.Command{Args: []string{"x"}}); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("start: got %v, want a refusal", err)
	}
	r, err := c.CopyOut(t.Context(), backend.Selection{Dir: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("copy out: got %v, want a refusal", err)
	}
}

// Whatever a supervisor says, the client neither panics nor waits for ever.
func FuzzLies(f *testing.F) {
	var honest bytes.Buffer
	w := agent.NewWriter(&honest)
	_ = w.Write(agent.TypeStarted, nil)
	_ = w.Write(agent.TypeNext, nil)
	_ = w.Write(agent.TypeStdout, []byte("x"))
	_ = w.Write(agent.TypeExit, agent.Encode(&agent.Exit{}))
	f.Add(honest.Bytes())
	f.Fuzz(func(t *testing.T, lie []byte) {
		ours, theirs := net.Pipe()
		go func() {
			greeting := make([]byte, agent.GreetingSize)
			_, _ = io.ReadFull(theirs, greeting)
			_, _ = theirs.Write(agent.Greeting())
			session, err := agent.Server(theirs)
			if err != nil {
				return
			}
			for range 3 {
				stream, err := session.AcceptStream()
				if err != nil {
					return
				}
				_, _ = stream.Write(lie)
				_ = stream.Close()
			}
			<-session.CloseChan()
		}()
		c, err := client.New(t.Context(), ours)
		if err != nil {
			t.Fatal(err)
		}
		defer theirs.Close()
		defer c.Close()
		cmd := backend.Command{Args: []string{"x"}, Stdin: strings.NewReader("in"), Stdout: io.Discard, Stderr: io.Discard}
		if p, err := c.Start(t.Context(), cmd); err == nil {
			_, _ = p.Wait()
		}
		_ = c.CopyIn(t.Context(), "/x", strings.NewReader("archive"))
		if r, err := c.CopyOut(t.Context(), backend.Selection{Dir: "/x"}); err == nil {
			_, _ = io.Copy(io.Discard, r)
			_ = r.Close()
		}
	})
}
