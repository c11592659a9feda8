// Package mcptest starts the real server as a process and talks to it as a client does: lines of
// JSON-RPC over its standard streams, with a deadline on everything.
package mcptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Options say how a server is started.
type Options struct {
	// Path is the binary, Args its arguments after the name.
	Path string
	Args []string
	// Env is the whole environment.
	Env []string
	// Dir is the working directory; empty means the test's.
	Dir string
}

// A Server is a running server. Its methods may be called concurrently.
type Server struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	exited chan struct{} // closed once the process is reaped

	write sync.Mutex

	mu      sync.Mutex
	nextID  int
	waiting map[string]chan Message
	notes   []Message
	strays  []string
	stderr  bytes.Buffer
}

// A Message is one line that the server wrote.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// An Error is a JSON-RPC error.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// ErrDeadline is returned when something did not happen in time.
var ErrDeadline = errors.New("not within its deadline")

// ErrEnded is returned when the server's output ended before an answer came.
var ErrEnded = errors.New("the server's output ended")

// Start starts a server. It is killed with the test, and what it wrote to stderr is logged if the test
// has failed.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{exited: make(chan struct{}), waiting: map[string]chan Message{}}
	s.cmd = exec.Command(o.Path, o.Args...)
	s.cmd.Env = append([]string{}, o.Env...)
	s.cmd.Dir = o.Dir
	s.cmd.Stderr = lockedWriter{&s.mu, &s.stderr}
	s.cmd.WaitDelay = time.Second
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatalf("stdin of the server: %v", err)
	}
	// Not StdoutPipe: Wait would close it under the reader.
	fromServer, toUs, err := os.Pipe()
	if err != nil {
		t.Fatalf("stdout of the server: %v", err)
	}
	s.stdout, s.cmd.Stdout = fromServer, toUs
	err = s.cmd.Start()
	_ = toUs.Close() // the server has its own
	if err != nil {
		t.Fatalf("start %s: %v", o.Path, err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	go s.read()
	t.Cleanup(func() {
		_ = s.stdin.Close()
		if err := s.WaitExit(5 * time.Second); err != nil {
			_ = s.Signal(syscall.SIGKILL)
			<-s.exited
		}
		_ = s.stdout.Close()
		if t.Failed() {
			t.Logf("stderr of the server:\n%s", s.Stderr())
		}
	})
	return s
}

// read hands out what the server writes until its output ends.
func (s *Server) read() {
	r := bufio.NewReaderSize(s.stdout, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			s.receive(line)
		}
		if err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			for id, c := range s.waiting {
				close(c)
				delete(s.waiting, id)
			}
			s.waiting = nil
			return
		}
	}
}

func (s *Server) receive(line []byte) {
	var m Message
	var shape struct {
		Version string `json:"jsonrpc"`
	}
	bad := json.Unmarshal(line, &m) != nil || json.Unmarshal(line, &shape) != nil || shape.Version != "2.0"
	s.mu.Lock()
	defer s.mu.Unlock()
	c, expected := s.waiting[string(m.ID)]
	switch {
	case bad:
		s.strays = append(s.strays, string(line))
	case m.Method == "" && expected:
		c <- m // has room for one, and is removed
		delete(s.waiting, string(m.ID))
	default:
		s.notes = append(s.notes, m)
	}
}

// PID is the process ID of the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stderr returns what the server wrote to its standard error so far.
func (s *Server) Stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.String()
}

// Strays returns the lines on standard output that are not JSON-RPC messages.
func (s *Server) Strays() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.strays)
}

// Others returns the messages that answer no request of ours: notifications, requests, errors without
// an id.
func (s *Server) Others() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// WriteLine sends one line as it is, and a line feed.
func (s *Server) WriteLine(line []byte) error {
	s.write.Lock()
	defer s.write.Unlock()
	_, err := s.stdin.Write(append(slices.Clone(line), '\n'))
	return err
}

// CloseInput ends the server's standard input.
func (s *Server) CloseInput() error { return s.stdin.Close() }

// CloseOutput closes the read end of the server's standard output.
func (s *Server) CloseOutput() error { return s.stdout.Close() }

// Signal sends a signal to the server.
func (s *Server) Signal(signal syscall.Signal) error { return s.cmd.Process.Signal(signal) }

// WaitExit waits for the server to end, at most for d. It returns [ErrDeadline], or nil whatever the
// exit code was; ExitCode tells that.
func (s *Server) WaitExit(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.exited:
		return nil
	case <-timer.C:
		return fmt.Errorf("server exits: %w of %v", ErrDeadline, d)
	}
}

// ExitCode is the exit code of the server after WaitExit, -1 if a signal ended it.
func (s *Server) ExitCode() int { return s.cmd.ProcessState.ExitCode() }

type lockedWriter struct {
	mu *sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
