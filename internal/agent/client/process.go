package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Start implements backend.Sandbox.
func (c *Client) Start(ctx context.Context, cmd backend.Command) (backend.Process, error) {
	o, err := c.call(ctx, agent.TypeStart, &agent.Start{
		Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Timeout: cmd.Timeout, Output: cmd.Output,
		Stdin: cmd.Stdin != nil, Stdout: cmd.Stdout != nil, Stderr: cmd.Stderr != nil,
	}, func(o *call) {
		_ = o.stream.SetReadDeadline(time.Now().Add(grace))
		_ = o.w.Write(agent.TypeCancel, nil)
	})
	if err != nil {
		return nil, err
	}
	t, payload, err := o.r.Next()
	switch {
	case err != nil:
		_ = o.close()
		return nil, gone(err)
	case t == agent.TypeError:
		_ = o.close()
		return nil, agent.DecodeFailure(payload)
	case t != agent.TypeStarted:
		_ = o.close()
		return nil, fmt.Errorf("start: %w: frame %d", agent.ErrProtocol, t)
	}
	if cmd.Timeout > 0 {
		_ = o.stream.SetReadDeadline(time.Now().Add(cmd.Timeout + grace))
	}
	p := &process{call: o, cancelled: ctx.Err, stdout: cmd.Stdout, stderr: cmd.Stderr, next: make(chan struct{}, 1), done: make(chan struct{})}
	if cmd.Stdin != nil {
		go p.feed(cmd.Stdin)
	}
	go p.follow()
	return p, nil
}

// grace is how long the supervisor has for killing a program at its deadline. One that programs keep
// from working is not waited for longer: whoever closes the sandbox then kills it from outside.
const grace = 2 * time.Second

// A process is a program in the sandbox.
type process struct {
	call           *call
	cancelled      func() error
	stdout, stderr io.Writer
	next           chan struct{} // the program has taken the last piece of standard input
	done           chan struct{} // exit and err are set

	exit backend.Exit
	err  error
}

// Wait implements backend.Process.
func (p *process) Wait() (backend.Exit, error) {
	<-p.done
	return p.exit, p.err
}

// follow passes the program's output on until its end.
func (p *process) follow() {
	defer close(p.done)
	defer p.call.close() //nolint:errcheck // the end was read
	for {
		t, payload, err := p.call.r.Next()
		if err != nil {
			p.exit, p.err = p.overdue(err)
			return
		}
		switch {
		case t == agent.TypeStdout && p.stdout != nil:
			_, _ = p.stdout.Write(payload) // who cannot take the output still wants to know the end
		case t == agent.TypeStderr && p.stderr != nil:
			_, _ = p.stderr.Write(payload)
		case t == agent.TypeNext:
			select {
			case p.next <- struct{}{}:
			default:
			}
		case t == agent.TypeExit:
			var exit agent.Exit
			p.err = agent.Decode(payload, &exit)
			p.exit = exit.Exit
			return
		case t == agent.TypeError:
			p.err = agent.DecodeFailure(payload)
			return
		default:
			p.err = fmt.Errorf("run: %w: frame %d", agent.ErrProtocol, t)
			return
		}
	}
}

// overdue is the end of a program whose supervisor did not answer in time.
func (p *process) overdue(err error) (backend.Exit, error) {
	switch {
	case !errors.Is(err, yamux.ErrTimeout):
		return backend.Exit{}, gone(err)
	case p.cancelled() != nil:
		return backend.Exit{Outcome: backend.Cancelled, Code: 128 + 9, Signal: 9}, nil //nolint:nilerr // the outcome says it
	default:
		return backend.Exit{Outcome: backend.TimedOut, Code: backend.CodeTimedOut}, nil
	}
}

// feed sends standard input, a piece at a time: the next goes out when the program has taken the last.
func (p *process) feed(stdin io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := stdin.Read(buf)
		if n > 0 {
			if p.call.w.Write(agent.TypeData, buf[:n]) != nil {
				return
			}
			select {
			case <-p.next:
			case <-p.done:
				return
			}
		}
		if err != nil {
			_ = p.call.w.Write(agent.TypeEOF, nil) // the program may be gone
			return
		}
	}
}
