// Package client is the server's side of the agent: it turns the stream to a supervisor into the
// methods of a backend.Sandbox.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A Client talks to one supervisor. Its methods may be called concurrently; their meaning is that of
// the methods of [backend.Sandbox].
type Client struct{ session *yamux.Session }

// New greets the supervisor at the other end of conn, which then belongs to the client. It fails when
// there is no supervisor, when it has another version, and when it says nothing until ctx ends.
func New(ctx context.Context, conn io.ReadWriteCloser) (*Client, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err := greet(conn)
	if !stop() {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	session, err := agent.Client(conn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("agent: %w", err), conn.Close())
	}
	return &Client{session}, nil
}

func greet(conn io.ReadWriteCloser) error {
	_, err := conn.Write(agent.Greeting())
	greeting := make([]byte, agent.GreetingSize)
	if err == nil {
		var n int
		if n, err = io.ReadFull(conn, greeting); n > 0 {
			err = agent.CheckGreeting(greeting[:n])
		}
		if errors.Is(err, agent.ErrGarbage) {
			err = fmt.Errorf("%w: %q", agent.ErrGarbage, remark(conn, greeting[:n]))
		}
	}
	if err != nil {
		return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("agent: wait for greeting: %w", err))
	}
	return nil
}

// remark returns the message of something that was started in the place of a supervisor, such as a
// shell that has not found it. It closes conn if there is no end to it.
func remark(conn io.ReadCloser, beginning []byte) string {
	const long, patience = 1 << 10, 100 * time.Millisecond
	timer := time.AfterFunc(patience, func() { _ = conn.Close() })
	defer timer.Stop()
	rest, _ := io.ReadAll(io.LimitReader(conn, long)) // what comes, comes
	return strings.TrimSpace(string(beginning) + string(rest))
}

// Close ends the connection; the supervisor then kills all it has started.
func (c *Client) Close() error { return c.session.Close() }

// A call is one operation: a stream that begins with a request.
type call struct {
	stream *yamux.Stream
	r      *agent.Reader
	w      *agent.Writer
	stop   func() bool
}

// call sends a request. When ctx ends, abort is called.
func (c *Client) call(ctx context.Context, t agent.Type, m agent.Message, abort func(*call)) (*call, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stream, err := c.session.OpenStream()
	if err != nil {
		return nil, gone(err)
	}
	o := &call{stream: stream, r: agent.NewReader(stream), w: agent.NewWriter(stream)}
	if err := o.w.Write(t, agent.Encode(m)); err != nil {
		_ = stream.Close()
		return nil, gone(err)
	}
	o.stop = context.AfterFunc(ctx, func() { abort(o) })
	return o, nil
}

// interrupt makes reads and writes of the call fail.
func (o *call) interrupt() { _ = o.stream.SetDeadline(time.Unix(1, 0)) }

func (o *call) close() error {
	o.stop()
	return o.stream.Close()
}

// gone is the error for a connection that ended.
func gone(err error) error {
	return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("agent: the sandbox has ended: %w", err))
}

// CopyIn implements backend.Sandbox.
func (c *Client) CopyIn(ctx context.Context, dir string, archive io.Reader) error {
	o, err := c.call(ctx, agent.TypeCopyIn, &agent.CopyIn{Dir: dir}, (*call).interrupt)
	if err != nil {
		return err
	}
	defer o.close() //nolint:errcheck // the answer was read
	var sending sync.WaitGroup
	var sendErr error
	sending.Go(func() {
		if _, sendErr = io.Copy(o.w.Data(agent.TypeData), archive); sendErr == nil {
			sendErr = o.w.Write(agent.TypeEOF, nil)
		}
		if sendErr != nil {
			o.interrupt() // no answer will come to half an archive
		}
	})
	t, payload, err := o.r.Next()
	o.interrupt() // nothing more is wanted, also if the answer was early
	sending.Wait()
	switch {
	case err == nil && t == agent.TypeEOF:
		return nil
	case err == nil && t == agent.TypeError:
		return agent.DecodeFailure(payload)
	case ctx.Err() != nil:
		return ctx.Err()
	case sendErr != nil && !errors.Is(sendErr, yamux.ErrTimeout):
		return fmt.Errorf("copy in: read archive: %w", sendErr)
	case err == nil:
		return fmt.Errorf("copy in: %w: frame %d", agent.ErrProtocol, t)
	default:
		return gone(err)
	}
}

// CopyOut implements backend.Sandbox.
func (c *Client) CopyOut(ctx context.Context, sel backend.Selection) (io.ReadCloser, error) {
	o, err := c.call(ctx, agent.TypeCopyOut, &agent.CopyOut{Selection: sel}, (*call).interrupt)
	if err != nil {
		return nil, err
	}
	return &archive{Body: agent.NewBody(o.r), call: o, cause: ctx.Err}, nil
}

// An archive is what CopyOut returns.
type archive struct {
	*agent.Body
	call  *call
	cause func() error
}

// Read implements io.Reader. After the end of the context its error is the context's.
func (a *archive) Read(p []byte) (int, error) {
	n, err := a.Body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && a.cause() != nil {
		err = a.cause()
	}
	return n, err
}

// Close implements io.Closer.
func (a *archive) Close() error { return a.call.close() }
