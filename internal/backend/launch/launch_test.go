package launch_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/client"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/launch"
)

// A played agent greets, takes every start for granted, and then hangs up in the middle of the program.
type played struct {
	client    *client.Client
	counters  func() (backend.Counters, error)
	oom       bool
	remark    string
	destroyed atomic.Int32
	destroy   func(ctx context.Context) error
}

func (p *played) Client() *client.Client { return p.client }

func (p *played) Counters() (backend.Counters, error) {
	if p.counters == nil {
		return backend.Counters{}, nil
	}
	return p.counters()
}

func (p *played) Autopsy(context.Context) (outOfMemory bool, remark string) { return p.oom, p.remark }

func (p *played) Destroy(ctx context.Context) error {
	p.destroyed.Add(1)
	if p.client != nil {
		_ = p.client.Close()
	}
	if p.destroy != nil {
		return p.destroy(ctx)
	}
	return nil
}

// connect gives p an agent at the other end that answers a start with finish.
func (p *played) connect(t *testing.T, finish func(w *agent.Writer)) {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		_, _ = io.ReadFull(theirs, make([]byte, agent.GreetingSize))
		_, _ = theirs.Write(agent.Greeting())
		session, err := agent.Server(theirs)
		if err != nil {
			return
		}
		stream, err := session.AcceptStream()
		if err != nil {
			return
		}
		_, _, _ = agent.NewReader(stream).Next()
		w := agent.NewWriter(stream)
		_ = w.Write(agent.TypeStarted, nil)
		finish(w)
		_ = session.Close()
	}()
	var err error
	if p.client, err = client.New(t.Context(), ours); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.client.Close() })
}

func launches(p launch.Agent) launch.Func {
	return func(context.Context, string) (launch.Agent, error) { return p, nil }
}

func runs(t *testing.T, set *launch.Set, p *played) (backend.Exit, error) {
	t.Helper()
	s, err := set.Create(t.Context(), launches(p))
	if err != nil {
		t.Fatal(err)
	}
	process, err := s.Start(t.Context(), backend.Command{Args: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	return process.Wait()
}

func TestAgentThatVanishes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		agent *played
		want  backend.Outcome
		says  string
	}{
		"for no reason":                {&played{}, "", "the sandbox has ended"},
		"with a last word":             {&played{remark: "fatal error: newosproc"}, "", "fatal error: newosproc"},
		"out of memory, by the engine": {&played{oom: true}, backend.OutOfMemory, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.agent.connect(t, func(*agent.Writer) {})
			exit, err := runs(t, launch.NewSet("x"), test.agent)
			switch {
			case test.want == "" && (!errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), test.says)):
				t.Errorf("got %+v, %v; want unavailable and %q", exit, err, test.says)
			case test.want != "" && (err != nil || exit.Outcome != test.want || exit.Code != 137 || len(exit.Reached) != 1):
				t.Errorf("got %+v, %v; want %s", exit, err, test.want)
			}
		})
	}
	t.Run("out of memory, by the counters", func(t *testing.T) {
		t.Parallel()
		var kills atomic.Int64
		p := &played{counters: func() (backend.Counters, error) { return backend.Counters{OOMKills: kills.Load()}, nil }}
		p.connect(t, func(*agent.Writer) { kills.Add(1) })
		if exit, err := runs(t, launch.NewSet("x"), p); err != nil || exit.Outcome != backend.OutOfMemory {
			t.Errorf("got %+v, %v", exit, err)
		}
	})
}

// TestCountersJoinTheExit: what only the outside knows is in the end of the program.
func TestCountersJoinTheExit(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	p := &played{counters: func() (backend.Counters, error) {
		return backend.Counters{ProcessHits: hits.Load(), PeakMemory: 7}, nil
	}}
	p.connect(t, func(w *agent.Writer) {
		hits.Add(1)
		_ = w.Write(agent.TypeExit, agent.Encode(&agent.Exit{Exit: backend.Exit{Outcome: backend.Exited, Code: 1}}))
	})
	exit, err := runs(t, launch.NewSet("x"), p)
	if err != nil || exit.Outcome != backend.OutOfProcesses || exit.Usage.PeakMemory != 7 {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// TestCreateAnswersAtOnce when its context ends; what the driver makes afterwards is removed.
func TestCreateAnswersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set, p := launch.NewSet("x"), &played{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		s, err := set.Create(ctx, func(context.Context, string) (launch.Agent, error) {
			time.Sleep(time.Minute) //nolint:forbidigo // in the time of the bubble
			return p, nil
		})
		if s != nil || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("got %v, %v after %v", s, err, time.Since(began))
		}
		if err := set.Close(t.Context()); err != nil || p.destroyed.Load() != 1 {
			t.Errorf("close: %v; destroyed %d times, want once", err, p.destroyed.Load())
		}
	})
}

// TestCloseDuringCreate: Close waits for what is being made, and leaves nothing of it.
func TestCloseDuringCreate(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]error{"that succeeds": nil, "that gives up": errors.New("given up")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				set, p := launch.NewSet("x"), &played{}
				var creating sync.WaitGroup
				creating.Go(func() {
					s, err := set.Create(t.Context(), func(ctx context.Context, _ string) (launch.Agent, error) {
						<-ctx.Done()
						time.Sleep(time.Second) //nolint:forbidigo // in the time of the bubble
						if result != nil {
							return nil, result
						}
						return p, nil
					})
					if result != nil && !errors.Is(err, backend.ErrUnavailable) {
						t.Errorf("create: %v, %v", s, err)
					}
				})
				synctest.Wait()
				if err := set.Close(t.Context()); err != nil {
					t.Errorf("close: %v", err)
				}
				if want := map[bool]int32{true: 1, false: 0}[result == nil]; p.destroyed.Load() != want {
					t.Errorf("destroyed %d times, want %d", p.destroyed.Load(), want)
				}
				creating.Wait()
				if _, err := set.Create(t.Context(), launches(p)); !errors.Is(err, backend.ErrUnavailable) {
					t.Errorf("create after close: %v", err)
				}
			})
		})
	}
}

// TestCloseIsTriedAgain until nothing is left; then it does nothing.
func TestCloseIsTriedAgain(t *testing.T) {
	t.Parallel()
	stuck := errors.New("stuck")
	p := &played{}
	p.destroy = func(context.Context) error {
		if p.destroyed.Load() == 1 {
			return stuck
		}
		return nil
	}
	set := launch.NewSet("x")
	s, err := set.Create(t.Context(), launches(p))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); !errors.Is(err, stuck) || !strings.Contains(err.Error(), s.ID()) {
		t.Errorf("first: %v", err)
	}
	if _, err := s.Start(t.Context(), backend.Command{}); !errors.Is(err, backend.ErrNotFound) {
		t.Errorf("start after close: %v", err)
	}
	for range 2 {
		if err := errors.Join(set.Close(t.Context()), s.Close(t.Context())); err != nil {
			t.Errorf("again: %v", err)
		}
	}
	if n := p.destroyed.Load(); n != 2 {
		t.Errorf("destroyed %d times, want twice", n)
	}
}
