package limit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// enter takes a place that is free.
func enter(t *testing.T, g *limit.Gate) (leave func()) {
	t.Helper()
	leave, err := g.Enter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

func TestOrderAndPositions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.New(1, time.Minute)
		leave := enter(t, g)

		const callers = 3
		var order []int
		positions := make([][]int, callers)
		for i := range callers {
			go func() {
				leave, err := g.Enter(t.Context(), func(p int) { positions[i] = append(positions[i], p) })
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i) // the gate lets in one at a time
				<-time.After(time.Second)
				leave()
			}()
			synctest.Wait() // it is in the queue
		}
		if inside, waiting := g.Load(); inside != 1 || waiting != callers {
			t.Errorf("%d inside and %d waiting, want 1 and %d", inside, waiting, callers)
		}
		leave()
		<-time.After(time.Minute)
		if diff := cmp.Diff([]int{0, 1, 2}, order); diff != "" {
			t.Errorf("order of turns (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([][]int{{1}, {2, 1}, {3, 2, 1}}, positions); diff != "" {
			t.Errorf("positions reported (-want +got):\n%s", diff)
		}
		if inside, waiting := g.Load(); inside != 0 || waiting != 0 {
			t.Errorf("%d inside and %d waiting at the end", inside, waiting)
		}
	})
}

func TestBusy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		wait time.Duration
		want []string
	}{
		{"waits", 5 * time.Second, []string{"1 calls run", "within 5s", "SANDBOX_MAX_CONCURRENT"}},
		{"does not wait", 0, []string{"1 calls run", "SANDBOX_QUEUE_TIMEOUT", "SANDBOX_MAX_CONCURRENT"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := limit.New(1, test.wait)
				leave := enter(t, g)
				began := time.Now()
				_, err := g.Enter(t.Context(), nil)
				if !errors.Is(err, backend.ErrBusy) {
					t.Fatalf("error %v, want ErrBusy", err)
				}
				if waited := time.Since(began); waited != test.wait {
					t.Errorf("waited %v, want %v", waited, test.wait)
				}
				for _, part := range test.want {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("error %q does not say %q", err, part)
					}
				}
				leave()
				leave() // gives back one place only
				first := enter(t, g)
				if _, err := g.Enter(t.Context(), nil); !errors.Is(err, backend.ErrBusy) {
					t.Errorf("a second caller got in: %v", err)
				}
				first()
			})
		})
	}
}

func TestCancelledCallerLosesItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.New(1, time.Minute)
		leave := enter(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		var first error
		go func() { _, first = g.Enter(ctx, nil) }()
		synctest.Wait()
		var last []int
		entered := false
		go func() {
			leave, err := g.Enter(t.Context(), func(p int) { last = append(last, p) })
			if err == nil {
				entered = true
				leave()
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !errors.Is(first, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", first)
		}
		leave()
		synctest.Wait()
		if !entered {
			t.Error("the caller behind the cancelled one never got in")
		}
		if diff := cmp.Diff([]int{2, 1}, last); diff != "" {
			t.Errorf("positions (-want +got):\n%s", diff)
		}
		if _, err := g.Enter(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a free place with a dead context: %v, want context.Canceled", err)
		}
		if inside, _ := g.Load(); inside != 0 {
			t.Errorf("%d still inside", inside)
		}
	})
}

// TestRandomCallers holds, over random arrivals, stays and cancellations: never more inside than there
// are places, turns in the order of arrival, and nothing left at the end.
func TestRandomCallers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			places := 1 + random.IntN(4)
			g := limit.New(places, time.Duration(1+random.IntN(20))*time.Second)
			var inside, most atomic.Int64
			var mu sync.Mutex
			var turns []int
			for i := range 40 {
				stay := time.Duration(random.Int64N(int64(3 * time.Second))) // no two end at one instant
				patience := time.Duration(random.IntN(30)) * time.Second
				go func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					leave, err := g.Enter(ctx, nil)
					if err != nil {
						if !errors.Is(err, backend.ErrBusy) && !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("seed %d: %v", seed, err)
						}
						return
					}
					mu.Lock()
					turns = append(turns, i)
					mu.Unlock()
					most.Store(max(most.Load(), inside.Add(1)))
					<-time.After(stay)
					inside.Add(-1)
					leave()
				}()
				synctest.Wait()
			}
			<-time.After(time.Hour)
			if got := int(most.Load()); got > places {
				t.Errorf("seed %d: %d inside at once, want at most %d", seed, got, places)
			}
			if !slices.IsSorted(turns) {
				t.Errorf("seed %d: turns out of order: %v", seed, turns)
			}
			if in, waiting := g.Load(); in != 0 || waiting != 0 {
				t.Errorf("seed %d: %d inside and %d waiting at the end", seed, in, waiting)
			}
		})
	}
}

func BenchmarkEnterFree(b *testing.B) {
	g := limit.New(1, time.Minute)
	for b.Loop() {
		leave, err := g.Enter(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		leave()
	}
}
