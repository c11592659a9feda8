package docker

import (
	"context"
	"sync"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
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
	oom bool
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
			f.listen(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(listenAgain):
			}
		}
	}()
	return f
}

func (f *fates) listen(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages, failed := f.engine.api.Events(ctx, events.ListOptions{Filters: filters.NewArgs(
		filters.Arg("type", string(events.ContainerEventType)),
		filters.Arg("label", labelRole+"="+roleSandbox),
		filters.Arg("event", string(events.ActionOOM)), filters.Arg("event", string(events.ActionDie)),
	)})
	for {
		select {
		case m := <-messages:
			f.note(m)
		case <-failed:
			return
		}
	}
}

func (f *fates) note(m events.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fate := f.of[m.Actor.ID]
	switch {
	case fate == nil:
	case m.Action == events.ActionOOM:
		fate.oom = true
	case m.Action == events.ActionDie:
		select {
		case <-fate.died:
		default:
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
	return fate.oom
}
