// Package limit lets a number of callers in at once and makes the others wait for their turn, in the
// order in which they came.
package limit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A Gate has a number of places. Its methods may be called concurrently.
type Gate struct {
	places int
	wait   time.Duration

	mu      sync.Mutex
	inside  int
	waiting []*waiter // the next one first; empty unless all places are taken
}

// A waiter is a caller without a place.
type waiter struct {
	position int           // from 1, or 0 when it was given a place; guarded by Gate.mu
	moved    chan struct{} // holds a value when position has changed
}

// New returns a gate with at least one place. A caller waits for a place for at most wait; with 0 it
// does not wait at all.
func New(places int, wait time.Duration) *Gate {
	return &Gate{places: max(places, 1), wait: wait}
}

// Enter returns once the caller has a place, which leave gives back; calling leave again does nothing.
// While the caller waits, moved is called with its position in the queue, 1 for the next, whenever that
// has changed; moved may be nil. The error is the context's, or wraps [backend.ErrBusy].
func (g *Gate) Enter(ctx context.Context, moved func(position int)) (leave func(), err error) {
	w, err := g.join(ctx)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	for {
		position := g.position(w)
		if position == 0 {
			if err := ctx.Err(); err != nil {
				g.leave()
				return nil, err
			}
			return sync.OnceFunc(g.leave), nil
		}
		if moved != nil {
			moved(position)
		}
		select {
		case <-w.moved:
		case <-ctx.Done():
			g.abandon(w)
			return nil, ctx.Err()
		case <-timer.C:
			return nil, g.tooLong(w)
		}
	}
}

// Load returns how many callers have a place and how many wait for one.
func (g *Gate) Load() (inside, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside, len(g.waiting)
}

// join takes a place, or one at the end of the queue.
func (g *Gate) join(ctx context.Context) (*waiter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &waiter{moved: make(chan struct{}, 1)}
	switch {
	case g.inside < g.places:
		g.inside++
	case g.wait <= 0:
		return nil, g.busy("and SANDBOX_QUEUE_TIMEOUT lets none wait")
	default:
		g.waiting = append(g.waiting, w)
		w.position = len(g.waiting)
	}
	return w, nil
}

func (g *Gate) position(w *waiter) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return w.position
}

// leave gives a place to the first who waits, if there is one.
func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.inside--
		return
	}
	g.waiting[0].move(0)
	g.remove(0)
}

// abandon takes a caller out of the queue, or its place from it if it got one at that very moment.
func (g *Gate) abandon(w *waiter) {
	g.mu.Lock()
	i := slices.Index(g.waiting, w)
	if i >= 0 {
		g.remove(i)
	}
	g.mu.Unlock()
	if i < 0 {
		g.leave()
	}
}

// tooLong takes a caller that waited too long out of the queue.
func (g *Gate) tooLong(w *waiter) error {
	g.abandon(w)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.busy(fmt.Sprintf("%d more wait, and no turn came within %v", len(g.waiting), g.wait))
}

// remove takes the waiter at index i out of the queue and tells those behind it.
func (g *Gate) remove(i int) {
	g.waiting = slices.Delete(g.waiting, i, i+1)
	for j, w := range g.waiting[i:] {
		w.move(i + j + 1)
	}
}

func (w *waiter) move(position int) {
	w.position = position
	select {
	case w.moved <- struct{}{}:
	default: // it has not looked since the last change, and will see this one
	}
}

func (g *Gate) busy(why string) error {
	return backend.Wrap(backend.ErrBusy, fmt.Errorf(
		"engine: wait for a turn: %d calls run, %s; try again later, or raise SANDBOX_MAX_CONCURRENT", g.inside, why))
}
