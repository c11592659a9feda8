package docker

import (
	"context"
	"sync"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
)

// fates remember what the engine tells of the ends of containers: one that was killed for lack of memory
// removes itself before anybody could ask why.
type fates struct {
	engine *engine
	stop   context.CancelFunc
	done   chan struct{}

	mu sync.Mutex
	of map[string]*fate // by the container's id, those that are open
}

type fate struct {
	// oom is when a process was last killed for lack of memory; ended is when the container did.
	oom, ended time.Time
	// died is closed when the container has ended.
	died chan struct{}
}

// listenAgain is how long to wait before listening again after the engine has hung up.
const listenAgain = time.Second

// watch listens until stop is called.
func watch(e *engine) *fates {
	ctx, cancel := context.WithCancel(context.Background())
	f := &fates{engine: e, done: make(chan struct{}), of: map[string]*fate{}}
	f.stop = func() { cancel(); <-f.done }
	go func() {
		defer close(f.done)
		for ctx.Err() == nil {
			_ = f.engine.api.Events(ctx, api.Filters{
				"type": {"container"}, "label": {labelRole + "=" + roleSandbox}, "event": {"oom", "die"},
			}, f.note) // the engine has hung up; it may come back
			select {
			case <-ctx.Done():
			case <-time.After(listenAgain):
			}
		}
	}()
	return f
}

func (f *fates) note(m api.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fate := f.of[m.Actor.ID]
	switch {
	case fate == nil:
	case m.Action == "oom":
		fate.oom = time.Now()
	case m.Action == "die":
		select {
		case <-fate.died:
		default:
			fate.ended = time.Now()
			close(fate.died)
		}
	}
}

// follow begins to remember a container; forget ends it.
func (f *fates) follow(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of[id] = &fate{died: make(chan struct{})}
}

func (f *fates) forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, id)
}

// outOfMemory reports whether a container that has ended had run out of memory. It waits until the
// engine has told of the end, or for ctx.
func (f *fates) outOfMemory(ctx context.Context, id string) bool {
	f.mu.Lock()
	fate := f.of[id]
	f.mu.Unlock()
	if fate == nil {
		return false
	}
	select {
	case <-fate.died:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !fate.oom.IsZero() && fate.ended.Sub(fate.oom) < oomReach
}

// oomReach is how long after the kill of a process the end of its container may be told, when the one is
// the reason for the other. Programs also survive the kill of a child.
const oomReach = 3 * time.Second
