// Package fake is a scripted backend in memory: it runs pseudo-programs, keeps files in maps, fails
// where a test says so, and remembers what it was asked.
package fake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A Step is a place where a test can make the backend fail.
type Step string

// The steps, in the order a request takes them.
const (
	StepProbe   Step = "probe"
	StepLocate  Step = "locate"
	StepCreate  Step = "create"
	StepCopyIn  Step = "copy in"
	StepStart   Step = "start"
	StepWait    Step = "wait"
	StepCopyOut Step = "copy out"
	StepClose   Step = "close"
)

// Options script a [Backend]. The zero value gives one on which everything works.
type Options struct {
	// Name is what the backend calls itself; empty means "fake".
	Name string
	// Capabilities are what it claims. Nothing is enforced.
	Capabilities backend.Capabilities
	// Programs come before the built-in ones, by the base name of the program started.
	Programs map[string]Program
	// Fault is asked before each step and may return the error that the step fails with, or wait for
	// a channel to delay it. Steps of several sandboxes call it concurrently.
	Fault func(ctx context.Context, step Step) error
}

// A Backend is a backend.Backend that needs no kernel.
type Backend struct {
	options Options

	mu     sync.Mutex
	nextID int
	open   map[string]*Sandbox
	record Record
}

// Record is what a backend was asked and how much of it was in flight.
type Record struct {
	// Specs of all sandboxes created, in order.
	Specs []backend.Spec
	// Commands started, in order. Their streams are nil.
	Commands []backend.Command
	// CopiedIn are the directories that archives were unpacked into, CopiedOut the selections asked for.
	CopiedIn  []string
	CopiedOut []backend.Selection
	// Open is the number of sandboxes not closed; MostOpen its highest value.
	Open, MostOpen int
	// Running is the number of programs that have not ended; MostRunning its highest value.
	Running, MostRunning int
}

// New returns a backend scripted by options.
func New(options Options) *Backend {
	if options.Name == "" {
		options.Name = "fake"
	}
	if options.Capabilities.Isolation == "" {
		options.Capabilities.Isolation = "none"
	}
	return &Backend{options: options, open: map[string]*Sandbox{}}
}

// Name implements backend.Backend.
func (b *Backend) Name() string { return b.options.Name }

// Capabilities implements backend.Backend.
func (b *Backend) Capabilities() backend.Capabilities { return b.options.Capabilities }

// Probe implements backend.Backend.
func (b *Backend) Probe(ctx context.Context) error { return b.fault(ctx, StepProbe) }

// Create implements backend.Backend. The sandbox has the working directory, the home directory and
// /tmp, all empty.
func (b *Backend) Create(ctx context.Context, spec backend.Spec) (backend.Sandbox, error) {
	if err := b.fault(ctx, StepCreate); err != nil {
		return nil, err
	}
	caps := b.options.Capabilities
	switch {
	case spec.Image != "" && !caps.Images:
		return nil, b.unsupported("an image")
	case spec.Network == backend.NetworkHost && !caps.HostNetwork:
		return nil, b.unsupported("the host's network")
	case (spec.Prefix != "" || spec.Scratch != "") && !caps.Prefix:
		return nil, b.unsupported("a prefix")
	}
	if spec.WorkDir == "" {
		spec.WorkDir = backend.DefaultWorkDir
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nextID++
	s := newSandbox(b, fmt.Sprintf("%s-%p-%d", b.options.Name, b, b.nextID), spec)
	b.open[s.id] = s
	b.record.Specs = append(b.record.Specs, spec)
	b.record.Open = len(b.open)
	b.record.MostOpen = max(b.record.MostOpen, b.record.Open)
	return s, nil
}

// Close implements backend.Backend.
func (b *Backend) Close(ctx context.Context) error {
	b.mu.Lock()
	left := slices.Collect(maps.Values(b.open))
	b.mu.Unlock()
	var err error
	for _, s := range left {
		err = errors.Join(err, s.Close(ctx))
	}
	return err
}

// Record returns a copy of what the backend was asked so far.
func (b *Backend) Record() Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.record
	r.Specs = slices.Clone(r.Specs)
	r.Commands = slices.Clone(r.Commands)
	r.CopiedIn = slices.Clone(r.CopiedIn)
	r.CopiedOut = slices.Clone(r.CopiedOut)
	return r
}

func (b *Backend) note(change func(*Record)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.record)
}

func (b *Backend) forget(s *Sandbox) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, s.id)
	b.record.Open = len(b.open)
}

func (b *Backend) fault(ctx context.Context, step Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.options.Fault == nil {
		return nil
	}
	return b.options.Fault(ctx, step)
}

func (b *Backend) unsupported(what string) error {
	return backend.Wrap(backend.ErrUnsupported,
		fmt.Errorf("%s: create sandbox: %s is not possible; leave it out of the spec", b.options.Name, what))
}

// A Host is a [Backend] whose sandboxes see the language runtimes of the host.
type Host struct {
	*Backend
	// Missing are programs that Locate does not find.
	Missing []string
}

// Locate implements backend.HostRuntimes. It finds the first alternative of every program in /usr/bin.
func (h Host) Locate(ctx context.Context, need backend.Need) (backend.Runtime, error) {
	if err := h.fault(ctx, StepLocate); err != nil {
		return backend.Runtime{}, err
	}
	found := backend.Runtime{ID: need.Language, Programs: map[string]string{}}
	for _, alternatives := range need.Programs {
		usable := slices.DeleteFunc(slices.Clone(alternatives), func(name string) bool {
			return slices.Contains(h.Missing, name)
		})
		if len(usable) == 0 {
			return backend.Runtime{}, backend.Wrap(backend.ErrUnavailable, fmt.Errorf(
				"%s: locate %s: %s is not installed; install %s", h.Name(), need.Language, alternatives[0], need.Package["debian"]))
		}
		found.Programs[alternatives[0]] = "/usr/bin/" + usable[0]
	}
	return found, nil
}
