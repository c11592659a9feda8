package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/hashicorp/yamux"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// maxOperations bounds what a server can have going on at the same time; further streams wait.
const maxOperations = 128

// Serve answers the server at the other end of conn until the connection ends, then kills everything
// it has started. It reaps all children of this process, whoever started them. The error is about the
// greeting; that a connection ends is none.
func Serve(conn io.ReadWriteCloser, o Options) error {
	return serve(conn, o, func(start func()) { start() })
}

// serve is Serve with the function that starts programs: it calls its argument on the right thread.
func serve(conn io.ReadWriteCloser, o Options, spawn func(func())) error {
	defer conn.Close() //nolint:errcheck // the session closes it too
	if err := greet(conn); err != nil {
		return err
	}
	processes, err := newProcesses()
	if err != nil {
		return err
	}
	defer processes.stop()
	session, err := agent.Server(conn)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	s := &supervisor{options: o, spawn: spawn, processes: processes, threads: make(chan struct{})}
	go func() {
		makeThreads()
		close(s.threads)
	}()
	if o.Counters {
		list, _ := os.ReadFile("/proc/self/cgroup") // without it nothing is counted
		s.groups = ownGroups(cgroupRoot, string(list))
	}
	s.accept(session)
	return nil
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
	options   Options
	spawn     func(func())
	processes *processes
	groups    groups
	// threads is closed when the threads of this process are made, and programs may use up the limit.
	threads chan struct{}
}

// accept serves streams until the session ends, which is how every sandbox ends. It returns when
// nothing runs any more.
func (s *supervisor) accept(session *yamux.Session) {
	var operations sync.WaitGroup
	defer operations.Wait()
	defer s.processes.endAll()
	defer session.Close() //nolint:errcheck // it has ended
	slots := make(chan struct{}, maxOperations)
	for {
		select {
		case slots <- struct{}{}:
		case <-session.CloseChan():
			return
		}
		stream, err := session.AcceptStream()
		if err != nil {
			return
		}
		operations.Go(func() {
			s.handle(stream)
			<-slots
		})
	}
}

// handle carries out the one operation of a stream.
func (s *supervisor) handle(stream *yamux.Stream) {
	r, w := agent.NewReader(stream), agent.NewWriter(stream)
	request, payload, err := r.Next()
	if err != nil {
		_ = stream.Close()
		return
	}
	var rest sync.WaitGroup
	hangUp := func() { _ = stream.Close() }
	if err := s.operate(request, payload, &rest, r, w, hangUp); err != nil {
		_ = w.Write(agent.TypeError, agent.EncodeFailure(err)) // the server may be gone
	}
	hangUp()
	rest.Wait()
}

// operate answers a request. Where the server can end the operation early, what it sends is read in a
// goroutine of rest, and hangUp then frees whoever waits for room in the stream.
func (s *supervisor) operate(request agent.Type, payload []byte, rest *sync.WaitGroup, r *agent.Reader, w *agent.Writer, hangUp func()) error {
	switch request {
	case agent.TypeStart:
		var m agent.Start
		if err := agent.Decode(payload, &m); err != nil {
			return err
		}
		return s.run(&m, rest, r, w, hangUp)
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
		closed := make(chan struct{})
		rest.Go(func() {
			_, _, _ = r.Next() // only the end can follow
			close(closed)
			hangUp()
		})
		if err := pack(m.Selection, w.Data(agent.TypeData), closed); err != nil {
			return err
		}
		return w.Write(agent.TypeEOF, nil)
	default:
		return backend.Wrap(backend.ErrInvalid, errors.New("agent: the first frame of a stream is not a request"))
	}
}
