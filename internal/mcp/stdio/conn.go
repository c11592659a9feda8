package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	methodInitialize = "initialize"
	methodCancelled  = "notifications/cancelled"
)

// A conn is the connection of a Transport. It knows which requests are not answered yet.
type conn struct {
	transport *Transport
	lines     chan line // closed at the end of the input

	stopOnce sync.Once
	stopped  chan struct{}

	queue []jsonrpc.Message // read and not handed over yet; belongs to Read

	mu    sync.Mutex // held while writing, so that lines stay whole
	calls map[callID]*call
	// answered is made at the end of the input and closed when calls is empty.
	answered chan struct{}
}

// A call is a request that is not answered yet.
type call struct {
	method    string
	cancelled bool
	batch     *batch // nil for a request on a line of its own
}

// A batch collects the answers to the requests that came in one array.
type batch struct {
	open    int
	answers []json.RawMessage
}

// pump reads lines until the input ends. It is a goroutine of its own because a Read of standard input
// cannot be interrupted.
func (c *conn) pump(r *lineReader) {
	defer close(c.lines)
	for {
		l, err := r.next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			l = line{err: err}
		}
		select {
		case c.lines <- l:
		case <-c.stopped:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements [mcp.Connection]. At the end of the input it holds back io.EOF, at which the SDK
// cancels all that runs, until every request is answered or the grace is over.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			message := c.queue[0]
			c.queue = c.queue[1:]
			return message, nil
		}
		select {
		case <-c.stopped:
			return nil, c.finish(io.EOF)
		case l, more := <-c.lines:
			if !more {
				c.drain()
				return nil, c.finish(io.EOF)
			}
			if l.err != nil {
				return nil, c.finish(l.err)
			}
			if err := c.accept(parse(l)); err != nil {
				return nil, c.finish(err)
			}
		}
	}
}

// finish tells the world that Read has returned its last message.
func (c *conn) finish(err error) error {
	c.transport.end.Do(func() { close(c.transport.ended) })
	return err
}

// drain waits until all requests are answered, for the grace at most.
func (c *conn) drain() {
	c.mu.Lock()
	open := len(c.calls)
	if open == 0 {
		c.mu.Unlock()
		return
	}
	answered := make(chan struct{})
	c.answered = answered
	c.mu.Unlock()

	grace := c.transport.options.Grace
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-answered:
	case <-c.stopped:
	case <-timer.C:
		c.transport.options.Log.Warn("client closed its end: cancelling what still runs", "requests", open, "waited", grace)
	}
}

// accept queues the messages of a frame and answers what is none. The error is that of writing.
func (c *conn) accept(f frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b *batch
	if f.batch {
		b = &batch{}
	}
	for _, p := range f.parts {
		r := p.refusal
		switch m := p.message.(type) {
		case *jsonrpc.Request:
			if m.Method == methodCancelled && !c.cancel(m) {
				continue
			}
			if m.IsCall() {
				r = c.register(m, b)
			}
			if r == nil {
				c.queue = append(c.queue, m)
			}
		case *jsonrpc.Response:
			c.queue = append(c.queue, m)
		}
		if r == nil {
			continue
		}
		if b != nil {
			b.answers = append(b.answers, r.encode())
		} else if err := c.writeLine(r.encode()); err != nil {
			return err
		}
	}
	return c.flush(b)
}

// register notes a request as unanswered, or says why it is refused.
func (c *conn) register(m *jsonrpc.Request, b *batch) *refusal {
	if slices.Contains(c.transport.options.Absent, m.Method) {
		return &refusal{m.ID, jsonrpc.CodeMethodNotFound, fmt.Sprintf("method not found: %q", m.Method)}
	}
	if earlier, taken := c.calls[m.ID]; taken {
		r := &refusal{code: jsonrpc.CodeInvalidRequest, reason: fmt.Sprintf("id: %v is that of a request which still runs", m.ID.Raw())}
		if earlier.cancelled { // and will never be answered, so that this answer cannot be taken for its own
			r.id = m.ID
		}
		return r
	}
	c.calls[m.ID] = &call{method: m.Method, batch: b}
	if b != nil {
		b.open++
	}
	return nil
}

// cancel marks the request that the notification names, and reports whether there is one to cancel.
func (c *conn) cancel(m *jsonrpc.Request) bool {
	var params struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return false
	}
	id, err := parseID(params.ID)
	if err != nil {
		return false
	}
	running, known := c.calls[id]
	if !known || running.method == methodInitialize {
		return false
	}
	running.cancelled = true
	return true
}

// Write implements [mcp.Connection].
func (c *conn) Write(_ context.Context, message jsonrpc.Message) error {
	response, isResponse := message.(*jsonrpc.Response)
	if isResponse {
		response.Error = withCode(response.Error)
	}
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return fmt.Errorf("stdio: encode message: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if isResponse {
		return c.answer(response.ID, data)
	}
	return c.writeLine(data)
}

// answer writes the answer to a request, unless the client has cancelled it.
func (c *conn) answer(id callID, data []byte) error {
	done, known := c.calls[id]
	if !known {
		return c.writeLine(data)
	}
	delete(c.calls, id)
	var err error
	switch {
	case done.batch != nil:
		done.batch.open--
		if !done.cancelled {
			done.batch.answers = append(done.batch.answers, data)
		}
		err = c.flush(done.batch)
	case !done.cancelled:
		err = c.writeLine(data)
	}
	if c.answered != nil && len(c.calls) == 0 {
		close(c.answered)
		c.answered = nil
	}
	return err
}

// flush writes the answers to a batch when all of them are there.
func (c *conn) flush(b *batch) error {
	if b == nil || b.open > 0 || len(b.answers) == 0 {
		return nil
	}
	data, err := json.Marshal(b.answers)
	if err != nil {
		return fmt.Errorf("stdio: encode batch: %w", err)
	}
	return c.writeLine(data)
}

// writeLine writes one line in one piece.
func (c *conn) writeLine(data []byte) error {
	if _, err := c.transport.out.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("stdio: write: %w", err)
	}
	return nil
}

// withCode gives a code to errors of the SDK that have none: of requests at the wrong time, such as a
// second initialize.
func withCode(err error) error {
	if err == nil {
		return nil
	}
	if coded, ok := errors.AsType[*jsonrpc.Error](err); ok && coded.Code != 0 {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
}

// Close implements [mcp.Connection].
func (c *conn) Close() error {
	c.stop()
	return nil
}

func (c *conn) stop() { c.stopOnce.Do(func() { close(c.stopped) }) }

// SessionID implements [mcp.Connection]. A pair of pipes has one session and no name for it.
func (c *conn) SessionID() string { return "" }
