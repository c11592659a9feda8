package supervisor

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/yamux"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Serve answers the server at the other end of conn until the connection ends, then kills everything
// it has started. The error is about the greeting; that a connection ends is none.
func Serve(conn io.ReadWriteCloser, o Options) error {
	return serve(conn, o, func(start func()) { start() })
}

// serve is Serve with the function that starts programs: it calls its argument on the right thread.
func serve(conn io.ReadWriteCloser, o Options, spawn func(func())) error {
	if err := greet(conn); err != nil {
		return err
	}
	session, err := agent.Server(conn)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	s := &supervisor{options: o, spawn: spawn, children: newReaper()}
	defer s.children.stop()
	defer s.killAll()
	for {
		stream, err := session.AcceptStream()
		if err != nil {
			return nil // the server is gone, which is how every sandbox ends
		}
		go s.handle(stream)
	}
}

func greet(conn io.ReadWriter) error {
	if _, err := conn.Write(agent.Greeting()); err != nil {
		return fmt.Errorf("agent: greet: %w", err)
	}
	greeting := make([]byte, agent.GreetingSize)
	if _, err := io.ReadFull(conn, greeting); err != nil {
		return fmt.Errorf("agent: wait for greeting: %w", err)
	}
	if err := agent.CheckGreeting(greeting); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	return nil
}

type supervisor struct {
	options  Options
	spawn    func(func())
	children *reaper
	programs programs
}

// handle carries out the one operation of a stream.
func (s *supervisor) handle(stream *yamux.Stream) {
	defer stream.Close() //nolint:errcheck // the server sees the end in any case
	r, w := agent.NewReader(stream), agent.NewWriter(stream)
	request, payload, err := r.Next()
	if err != nil {
		return
	}
	if err := s.operate(request, payload, r, w); err != nil {
		_ = w.Write(agent.TypeError, agent.EncodeFailure(err))
	}
}

func (s *supervisor) operate(request agent.Type, payload []byte, r *agent.Reader, w *agent.Writer) error {
	switch request {
	case agent.TypeStart:
		var m agent.Start
		if err := agent.Decode(payload, &m); err != nil {
			return err
		}
		return s.run(&m, r, w)
	case agent.TypeCopyIn:
		var m agent.CopyIn
		if err := agent.Decode(payload, &m); err != nil {
			return err
		}
		if err := unpack(m.Dir, agent.NewBody(r)); err != nil {
			return err
		}
		return w.Write(agent.TypeEOF, nil)
	case agent.TypeCopyOut:
		var m agent.CopyOut
		if err := agent.Decode(payload, &m); err != nil {
			return err
		}
		if err := pack(m.Selection, w.Data(agent.TypeData)); err != nil {
			return err
		}
		return w.Write(agent.TypeEOF, nil)
	default:
		return backend.Wrap(backend.ErrInvalid, errors.New("agent: the first frame of a stream is not a request"))
	}
}
