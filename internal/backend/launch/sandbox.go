package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

var _ backend.Sandbox = (*Sandbox)(nil)

// A Sandbox is what a driver has made around one agent.
type Sandbox struct {
	set   *Set
	id    string
	agent Agent

	closed atomic.Bool
	// turn is taken by the one that removes; it holds whether that is done.
	turn chan bool
}

// ID implements backend.Sandbox.
func (s *Sandbox) ID() string { return s.id }

// alive returns an error once Close was called.
func (s *Sandbox) alive() error {
	if s.closed.Load() {
		return backend.Wrap(backend.ErrNotFound, fmt.Errorf("%s: sandbox %s: it was closed", s.set.name, s.id))
	}
	return nil
}

// CopyIn implements backend.Sandbox.
func (s *Sandbox) CopyIn(ctx context.Context, dir string, archive io.Reader) error {
	if err := s.alive(); err != nil {
		return err
	}
	return s.agent.Client().CopyIn(ctx, dir, archive)
}

// CopyOut implements backend.Sandbox.
func (s *Sandbox) CopyOut(ctx context.Context, sel backend.Selection) (io.ReadCloser, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.agent.Client().CopyOut(ctx, sel)
}

// Start implements backend.Sandbox.
func (s *Sandbox) Start(ctx context.Context, cmd backend.Command) (backend.Process, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	before, err := s.agent.Counters()
	if err != nil {
		return nil, fmt.Errorf("%s: start: %w", s.set.name, err)
	}
	p, err := s.agent.Client().Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return &process{Process: p, sandbox: s, before: before}, nil
}

// Close implements backend.Sandbox.
func (s *Sandbox) Close(ctx context.Context) error {
	s.closed.Store(true)
	var removed bool
	select {
	case removed = <-s.turn:
	default:
		select {
		case removed = <-s.turn:
		case <-ctx.Done():
			return fmt.Errorf("%s: remove sandbox %s: it is being removed: %w", s.set.name, s.id, ctx.Err())
		}
	}
	defer func() { s.turn <- removed }()
	if removed {
		return nil
	}
	if err := s.agent.Destroy(ctx); err != nil {
		return fmt.Errorf("%s: remove sandbox %s: %w", s.set.name, s.id, err)
	}
	removed = true
	s.set.forget(s)
	return nil
}

// A process adds to the agent's account what is known only outside of the sandbox.
type process struct {
	backend.Process
	sandbox *Sandbox
	before  backend.Counters
}

// autopsyTimeout bounds the question why an agent has ended.
const autopsyTimeout = 2 * time.Second

// Wait implements backend.Process.
func (p *process) Wait() (backend.Exit, error) {
	exit, err := p.Process.Wait()
	after, counted := p.sandbox.agent.Counters()
	if counted != nil {
		return exit, errors.Join(err, counted)
	}
	if err != nil {
		outOfMemory, err := p.autopsy(err)
		if !outOfMemory && after.OOMKills == p.before.OOMKills {
			return exit, err
		}
		// The kernel chose the agent. What the program had written is lost, but not the reason.
		exit = backend.Exit{Outcome: backend.OutOfMemory, Code: 128 + 9, Signal: 9, Reached: []string{"memory"}}
	}
	exit.Count(p.before, after)
	return exit, nil
}

// autopsy asks why the agent did not tell the end of the program.
func (p *process) autopsy(err error) (outOfMemory bool, explained error) {
	if p.sandbox.closed.Load() {
		return false, err // it was ended by us
	}
	ctx, cancel := context.WithTimeout(context.Background(), autopsyTimeout)
	defer cancel()
	outOfMemory, remark := p.sandbox.agent.Autopsy(ctx)
	if remark != "" {
		err = fmt.Errorf("%w: %s", err, remark)
	}
	return outOfMemory, err
}
