// Package launch turns agents that a driver has started into the sandboxes of its backend, and keeps
// account of them, so that none outlives the backend.
package launch

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/client"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// An Agent is one that a driver has started, with the isolation around it.
type Agent interface {
	// Client talks to the agent.
	Client() *client.Client
	// Counters are what is counted outside of the sandbox; all zero where the agent counts by itself.
	Counters() (backend.Counters, error)
	// Autopsy is asked when the agent has ended during a program: was it for lack of memory, and what else
	// is there to say about it?
	Autopsy(ctx context.Context) (outOfMemory bool, remark string)
	// Destroy kills everything inside and removes what the driver has made. It returns when nothing is
	// left, or says what is. Calling it again after it has failed is fine.
	Destroy(ctx context.Context) error
}

// A Func starts an agent in a sandbox that gets the name id. If it fails it has removed what it made.
type Func func(ctx context.Context, id string) (Agent, error)

// A Set is the sandboxes of one backend, those that are being made included.
type Set struct {
	name string

	mu       sync.Mutex
	closed   bool
	launches map[*context.CancelCauseFunc]struct{}
	open     map[*Sandbox]struct{}
	// pending counts launches that have not been answered or removed.
	pending sync.WaitGroup
}

// NewSet returns an empty set for the backend of that name.
func NewSet(backendName string) *Set {
	return &Set{
		name:     backendName,
		launches: map[*context.CancelCauseFunc]struct{}{},
		open:     map[*Sandbox]struct{}{},
	}
}

// giveUpTimeout bounds the removal of a sandbox that nobody waits for any more.
const giveUpTimeout = 10 * time.Second

// Create returns a sandbox around the agent that launch starts. When ctx ends it returns at once; what
// launch has made by then, or still makes, is removed in the background.
func (s *Set) Create(ctx context.Context, launch Func) (backend.Sandbox, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	launching, cancel := context.WithCancelCause(ctx)
	if err := s.enter(&cancel); err != nil {
		return nil, err
	}
	answer := make(chan answer) // whoever is late finds nobody at the other end
	go func() {
		defer s.leave(&cancel)
		got := s.start(launching, launch)
		select {
		case answer <- got:
		case <-ctx.Done():
			if got.sandbox != nil {
				closing, stop := context.WithTimeout(context.WithoutCancel(ctx), giveUpTimeout)
				defer stop()
				_ = got.sandbox.Close(closing) // what is left then, Close of the set removes
			}
		}
	}()
	select {
	case got := <-answer:
		if got.err != nil {
			return nil, got.err
		}
		return got.sandbox, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type answer struct {
	sandbox *Sandbox
	err     error
}

func (s *Set) start(ctx context.Context, launch Func) answer {
	id := s.name + "-" + randomID()
	agent, err := launch(ctx, id)
	if err != nil {
		if errors.Is(context.Cause(ctx), errClosing) {
			err = s.closedError()
		}
		return answer{err: err}
	}
	sandbox := &Sandbox{set: s, id: id, agent: agent, turn: make(chan bool, 1)}
	sandbox.turn <- false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[sandbox] = struct{}{} // also if the set is being closed: Close waits for this launch first
	return answer{sandbox: sandbox}
}

var errClosing = errors.New("the backend is being closed")

func (s *Set) closedError() error {
	return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("%s: the backend is closed", s.name))
}

// enter begins a launch that Close can cancel.
func (s *Set) enter(cancel *context.CancelCauseFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.closedError()
	}
	s.pending.Add(1)
	s.launches[cancel] = struct{}{}
	return nil
}

func (s *Set) leave(cancel *context.CancelCauseFunc) {
	s.mu.Lock()
	delete(s.launches, cancel)
	s.mu.Unlock()
	(*cancel)(nil)
	s.pending.Done()
}

func (s *Set) forget(sandbox *Sandbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sandbox)
}

// Close cancels what is being made, removes every sandbox and returns when nothing is left, or says what
// is. Nothing can be created any more.
func (s *Set) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	for cancel := range s.launches {
		(*cancel)(errClosing)
	}
	waiting := len(s.launches)
	s.mu.Unlock()

	var errs []error
	if waiting > 0 {
		settled := make(chan struct{})
		go func() {
			s.pending.Wait()
			close(settled)
		}()
		select {
		case <-settled:
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("%s: wait for %d sandboxes that are being made: %w", s.name, waiting, ctx.Err()))
		}
	}

	s.mu.Lock()
	sandboxes := make([]*Sandbox, 0, len(s.open))
	for sandbox := range s.open {
		sandboxes = append(sandboxes, sandbox)
	}
	s.mu.Unlock()
	results := make([]error, len(sandboxes))
	var all sync.WaitGroup
	for i, sandbox := range sandboxes {
		all.Go(func() { results[i] = sandbox.Close(ctx) })
	}
	all.Wait()
	return errors.Join(append(errs, results...)...)
}

// randomID returns a name that no other sandbox has.
func randomID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}
