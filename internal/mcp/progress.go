package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
)

const (
	// progressEvery is the least time between two notifications: a client that shows them needs no
	// more than five a second.
	progressEvery = 200 * time.Millisecond
	// heartbeat is the longest time without one. Clients give up on a request that is silent for a
	// minute, unless they see that it goes on.
	heartbeat = 10 * time.Second
	// progressLength is the longest message in characters.
	progressLength = 200
)

// A progress sends what happens in a request as notifications, the newest message first if there are
// more than may be sent.
type progress struct {
	messages chan string // holds the newest message that was not sent yet
	cancel   context.CancelFunc
	done     chan struct{}
}

// startProgress sends notifications to a session until stop is called or ctx ends.
func startProgress(ctx context.Context, session *sdk.ServerSession, token any) *progress {
	ctx, cancel := context.WithCancel(ctx)
	p := &progress{messages: make(chan string, 1), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.run(ctx, func(n int, message string) error {
			return session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: token,
				Progress:      float64(n),
				Message:       message,
			})
		})
	}()
	return p
}

// event notes what happened. It does not block.
func (p *progress) event(e engine.Event) {
	message := cut(e.Message, progressLength)
	for {
		select {
		case p.messages <- message:
			return
		default:
		}
		select {
		case <-p.messages: // make room: the newer one counts
		default:
		}
	}
}

// stop returns when the last notification is sent.
func (p *progress) stop() {
	p.cancel()
	<-p.done
}

func (p *progress) run(ctx context.Context, send func(n int, message string) error) {
	start := time.Now()
	alive := time.NewTimer(heartbeat)
	defer alive.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for n := 1; ; n++ {
		select { // not too often
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		var message string
		select {
		case <-ctx.Done():
			return
		case message = <-p.messages:
		case <-alive.C:
			message = fmt.Sprintf("still at work after %d s", int(time.Since(start).Seconds()))
		}
		if ctx.Err() != nil || send(n, message) != nil {
			return
		}
		pause.Reset(progressEvery)
		alive.Reset(heartbeat)
	}
}
