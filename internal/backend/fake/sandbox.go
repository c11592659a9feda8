package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A Sandbox is a tree of files in memory and the programs that run over it.
type Sandbox struct {
	// Files is the tree; a test may look at it and change it at any time.
	Files *Files

	backend *Backend
	id      string
	spec    backend.Spec

	mu      sync.Mutex
	closed  bool
	kill    map[*process]context.CancelCauseFunc
	running sync.WaitGroup
}

// Why a program's context ended.
var (
	errTimeout = errors.New("the timeout has passed")
	errOutput  = errors.New("too much output")
)

func newSandbox(b *Backend, id string, spec backend.Spec) *Sandbox {
	return &Sandbox{
		Files:   newFiles(spec.WorkDir, backend.HomeDir, backend.HookDir, backend.ArtifactDir, "/tmp"),
		backend: b, id: id, spec: spec, kill: map[*process]context.CancelCauseFunc{},
	}
}

// ID implements backend.Sandbox.
func (s *Sandbox) ID() string { return s.id }

// Start implements backend.Sandbox.
func (s *Sandbox) Start(ctx context.Context, cmd backend.Command) (backend.Process, error) {
	if err := s.backend.fault(ctx, StepStart); err != nil {
		return nil, err
	}
	if len(cmd.Args) == 0 {
		return nil, backend.Wrap(backend.ErrInvalid,
			fmt.Errorf("%s: start program: no arguments; name a program", s.backend.Name()))
	}
	program, err := s.lookUp(cmd.Args[0])
	if err != nil {
		return nil, err
	}
	if cmd.Dir == "" {
		cmd.Dir = s.spec.WorkDir
	}
	if !s.Files.isDir(cmd.Dir) {
		return nil, backend.Wrap(backend.ErrNotFound,
			fmt.Errorf("%s: start %s: no directory %s; make it first", s.backend.Name(), cmd.Args[0], cmd.Dir))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, s.errClosed("start " + cmd.Args[0])
	}
	p := &process{done: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(ctx)
	s.kill[p] = cancel
	s.backend.note(func(r *Record) {
		c := cmd
		c.Stdin, c.Stdout, c.Stderr = nil, nil, nil
		r.Commands = append(r.Commands, c)
		r.Running++
		r.MostRunning = max(r.MostRunning, r.Running)
	})
	s.running.Go(func() {
		defer close(p.done)
		p.exit = s.run(ctx, cancel, cmd, program)
		p.err = s.backend.fault(context.WithoutCancel(ctx), StepWait)
		s.backend.note(func(r *Record) { r.Running-- })
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.kill, p)
	})
	return p, nil
}

// run plays the program and says how it ended.
func (s *Sandbox) run(ctx context.Context, cancel context.CancelCauseFunc, cmd backend.Command, program Program) backend.Exit {
	defer cancel(nil)
	if cmd.Timeout > 0 {
		defer time.AfterFunc(cmd.Timeout, func() { cancel(errTimeout) }).Stop()
	}
	output := newOutput(cmd, func() { cancel(errOutput) })
	call := &Call{
		Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Files: s.Files,
		Stdin: stdin(ctx, cmd.Stdin), Stdout: output.stdout, Stderr: output.stderr,
		sandbox: s,
	}
	began := time.Now()
	exit := program(ctx, call)
	exit.Usage.Wall = time.Since(began)
	exit.Stdout, exit.Stderr = output.finish()
	if exit.Outcome == "" {
		exit.Outcome = backend.Exited
	}
	switch cause := context.Cause(ctx); {
	case cause == nil:
	case errors.Is(cause, errTimeout):
		exit.Outcome, exit.Code = backend.TimedOut, backend.CodeTimedOut
	case errors.Is(cause, errOutput):
		exit.Outcome, exit.Code, exit.Signal = backend.OutputLimited, 137, 9
	default:
		exit.Outcome, exit.Code, exit.Signal = backend.Cancelled, 137, 9
	}
	return exit
}

// lookUp finds the program: a script in the sandbox's files, one of the test's, or a built-in.
func (s *Sandbox) lookUp(name string) (Program, error) {
	if strings.HasPrefix(name, "/") {
		if data, mode, err := s.Files.read(name); err == nil {
			if mode&0o111 == 0 {
				return nil, backend.Wrap(backend.ErrInvalid, fmt.Errorf(
					"%s: start %s: permission denied; give the file an execute bit", s.backend.Name(), name))
			}
			return func(ctx context.Context, c *Call) backend.Exit { return shell(ctx, c, string(data)) }, nil
		}
	}
	base := path.Base(name)
	if program, ok := s.backend.options.Programs[base]; ok {
		return program, nil
	}
	if program, ok := builtins()[base]; ok {
		return program, nil
	}
	return nil, backend.Wrap(backend.ErrNotFound,
		fmt.Errorf("%s: start %s: no such program; add it to the programs of the fake", s.backend.Name(), name))
}

// CopyIn implements backend.Sandbox.
func (s *Sandbox) CopyIn(ctx context.Context, dir string, archive io.Reader) error {
	if err := s.usable(ctx, StepCopyIn); err != nil {
		return err
	}
	s.backend.note(func(r *Record) { r.CopiedIn = append(r.CopiedIn, dir) })
	return s.Files.unpack(dir, archive)
}

// CopyOut implements backend.Sandbox.
func (s *Sandbox) CopyOut(ctx context.Context, sel backend.Selection) (io.ReadCloser, error) {
	if err := s.usable(ctx, StepCopyOut); err != nil {
		return nil, err
	}
	s.backend.note(func(r *Record) { r.CopiedOut = append(r.CopiedOut, sel) })
	return s.Files.pack(sel)
}

// Close implements backend.Sandbox.
func (s *Sandbox) Close(ctx context.Context) error {
	if err := s.backend.fault(context.WithoutCancel(ctx), StepClose); err != nil {
		return err
	}
	s.mu.Lock()
	s.closed = true
	for _, cancel := range s.kill {
		cancel(context.Canceled)
	}
	s.mu.Unlock()
	s.running.Wait()
	s.backend.forget(s)
	return nil
}

func (s *Sandbox) usable(ctx context.Context, step Step) error {
	if err := s.backend.fault(ctx, step); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.errClosed(string(step))
	}
	return nil
}

func (s *Sandbox) errClosed(doing string) error {
	return backend.Wrap(backend.ErrNotFound,
		fmt.Errorf("%s: %s: sandbox %s is closed; create another", s.backend.Name(), doing, s.id))
}

type process struct {
	done chan struct{}
	exit backend.Exit
	err  error
}

// Wait implements backend.Process.
func (p *process) Wait() (backend.Exit, error) {
	<-p.done
	return p.exit, p.err
}
