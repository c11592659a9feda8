package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/fake"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine/limit"
)

// events collects what a request reports.
type events struct {
	mu  sync.Mutex
	all []string
}

func (e *events) add(event engine.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event.Message)
}

func (e *events) list() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.all...)
}

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := python(t, func(ctx context.Context, c *fake.Call) backend.Exit {
			for i := range 30 { // a line every 100 ms
				_, _ = fmt.Fprintf(c.Stdout, "line %d of\xff text\n \n", i)
				_, _ = fmt.Fprint(c.Stdout, "unfinished ")
				fake.Wait(ctx, 100*time.Millisecond)
			}
			return backend.Exit{}
		}, func(_ *fake.Options, o *engine.Options) { o.Output.Head, o.Output.Tail = 0, 0 })
		var got events
		s.execute(t, engine.Request{Code: "for i in …", Artifacts: true, Progress: got.add})
		list := got.list()
		if diff := cmp.Diff([]string{"starting a sandbox", "step: run"}, list[:2]); diff != "" {
			t.Errorf("first events (-want +got):\n%s", diff)
		}
		lines := list[2 : len(list)-1]
		if n := len(lines); n < 3 || n > 7 {
			t.Errorf("%d lines reported in 3 s, want about six: %q", n, lines)
		}
		says(t, lines[0], "line ", " of\uFFFD text")
		if last := list[len(list)-1]; last != "collecting pictures and files" {
			t.Errorf("last event %q", last)
		}
		<-time.After(time.Minute)
		if diff := cmp.Diff(list, got.list()); diff != "" {
			t.Errorf("events after the response:\n%s", diff)
		}
	})
}

func TestQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := python(t, takes(10*time.Second), func(_ *fake.Options, o *engine.Options) {
			o.Gate = limit.New(1, 15*time.Second)
		})
		var calls sync.WaitGroup
		results := make([]error, 3)
		reports := make([]events, 3)
		for i := range 3 {
			calls.Go(func() {
				_, results[i] = s.Execute(t.Context(), engine.Request{Code: "1", Progress: reports[i].add})
			})
			synctest.Wait()
		}
		calls.Wait()
		if results[0] != nil || results[1] != nil || !errors.Is(results[2], backend.ErrBusy) {
			t.Errorf("results %v, want the third busy", results)
		}
		want := []string{"waiting for a turn: number 2 in the queue", "waiting for a turn: number 1 in the queue"}
		if diff := cmp.Diff(want, reports[2].list()); diff != "" {
			t.Errorf("events of the third (-want +got):\n%s", diff)
		}
		if most := s.backend.Record().MostRunning; most != 1 {
			t.Errorf("%d programs at once, want 1", most)
		}
	})
}
