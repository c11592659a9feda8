package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/client"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail/cgroup"
)

var _ backend.Sandbox = (*Sandbox)(nil)

// A Sandbox is one set of namespaces with an agent as their first process.
type Sandbox struct {
	backend *Backend
	id      string
	group   *cgroup.Group
	conn    *os.File
	agent   *client.Client
	process *os.Process
	exited  chan struct{} // closed when process is gone, and with it every process inside

	closed  atomic.Bool
	closing sync.Mutex
	removed bool
}

// ID implements backend.Sandbox.
func (s *Sandbox) ID() string { return s.id }

// alive returns an error once Close was called.
func (s *Sandbox) alive() error {
	if s.closed.Load() {
		return backend.Wrap(backend.ErrNotFound, fmt.Errorf("native: sandbox %s: it was closed", s.id))
	}
	return nil
}

// CopyIn implements backend.Sandbox.
func (s *Sandbox) CopyIn(ctx context.Context, dir string, archive io.Reader) error {
	if err := s.alive(); err != nil {
		return err
	}
	return s.agent.CopyIn(ctx, dir, archive)
}

// CopyOut implements backend.Sandbox.
func (s *Sandbox) CopyOut(ctx context.Context, sel backend.Selection) (io.ReadCloser, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.agent.CopyOut(ctx, sel)
}

// Start implements backend.Sandbox.
func (s *Sandbox) Start(ctx context.Context, cmd backend.Command) (backend.Process, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	before, err := s.reading()
	if err != nil {
		return nil, fmt.Errorf("native: read control group: %w", err)
	}
	p, err := s.agent.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return &process{Process: p, sandbox: s, before: before}, nil
}

// Close implements backend.Sandbox. Killing the first process of a pid namespace kills all the others,
// and the kernel reaps them before it lets go of the first.
func (s *Sandbox) Close(ctx context.Context) error {
	s.closed.Store(true)
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.removed {
		return nil
	}
	if s.process != nil {
		if err := s.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("native: kill sandbox %s: %w", s.id, err)
		}
	}
	if s.agent != nil {
		_ = s.agent.Close() // it was told the hard way already
	} else if s.conn != nil {
		_ = s.conn.Close()
	}
	if s.process != nil {
		select {
		case <-s.exited:
		case <-ctx.Done():
			return fmt.Errorf("native: wait for the end of sandbox %s: %w", s.id, ctx.Err())
		}
	}
	if err := s.group.Close(ctx); err != nil {
		return fmt.Errorf("native: remove control group of sandbox %s: %w", s.id, err)
	}
	s.removed = true
	s.backend.forget(s)
	return nil
}

// reap waits for the first process, so that it does not stay a zombie.
func (s *Sandbox) reap() {
	_, _ = s.process.Wait()
	close(s.exited)
}

// A reading is what the control group has counted so far.
type reading struct {
	events cgroup.Events
	cpu    time.Duration
	peak   int64
}

func (s *Sandbox) reading() (r reading, err error) {
	if r.events, err = s.group.Events(); err != nil {
		return r, err
	}
	r.cpu, r.peak, err = s.group.Usage()
	return r, err
}

// A process adds to the agent's account what only the control group knows.
type process struct {
	backend.Process
	sandbox *Sandbox
	before  reading
}

// Wait implements backend.Process.
func (p *process) Wait() (backend.Exit, error) {
	exit, err := p.Process.Wait()
	after, readErr := p.sandbox.reading()
	if readErr != nil {
		return exit, errors.Join(err, readErr)
	}
	killed := after.events.OOMKills > p.before.events.OOMKills
	if err != nil && killed {
		// The kernel chose the agent. What the program had written is lost, but not the reason.
		exit, err = backend.Exit{Outcome: backend.OutOfMemory, Code: 137, Signal: 9}, nil
	}
	if err != nil {
		return exit, err
	}
	failed := exit.Code != 0 && (exit.Outcome == backend.Exited || exit.Outcome == backend.Signaled)
	if killed {
		exit.Reached = append(exit.Reached, "memory")
		if failed {
			exit.Outcome, failed = backend.OutOfMemory, false
		}
	}
	if after.events.ProcessHits > p.before.events.ProcessHits {
		exit.Reached = append(exit.Reached, "processes")
		if failed {
			exit.Outcome = backend.OutOfProcesses
		}
	}
	if after.cpu > p.before.cpu {
		exit.Usage.CPU = after.cpu - p.before.cpu
	}
	if after.peak > 0 {
		exit.Usage.PeakMemory = after.peak
	}
	return exit, nil
}
