package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/client"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/command"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/container/api"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/launch"
)

// greetTimeout bounds the wait for the agent of a container that has started.
const greetTimeout = 30 * time.Second

// launch starts the agent in a container. If somebody has removed the volume with the agent it is filled
// once more.
func (e *engine) launch(ctx context.Context, id string, spec backend.Spec, h Hardening) (launch.Agent, error) {
	a, err := e.tryLaunch(ctx, id, spec, h)
	if errors.Is(err, errNoAgent) {
		e.agents.forget()
		a, err = e.tryLaunch(ctx, id, spec, h)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// errNoAgent: the volume does not hold the agent.
var errNoAgent = errors.New("the agent is not in its volume")

func (e *engine) tryLaunch(ctx context.Context, id string, spec backend.Spec, h Hardening) (*agent, error) {
	volumes, err := e.volumesOf(ctx, spec.Image)
	if err != nil {
		return nil, err
	}
	volume, err := e.agents.get(ctx, spec.Image)
	if err != nil {
		return nil, err
	}
	name := "llm-sandbox-" + id
	containerID, err := e.create(ctx, name, newBody(spec, h, volume, volumes))
	if err != nil {
		if _, answered := errors.AsType[*api.Error](err); !answered { // nobody knows what the engine made of it
			e.giveUp(ctx, name)
		}
		return nil, err
	}
	a := &agent{engine: e, container: containerID}
	e.fates.follow(containerID)
	if err := a.boot(ctx); err != nil {
		e.giveUp(ctx, containerID)
		e.fates.forget(containerID)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return a, nil
}

// giveUp removes a container that nobody got.
func (e *engine) giveUp(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTimeout)
	defer cancel()
	if err := e.remove(ctx, id); err != nil {
		e.log.WarnContext(ctx, "remove a container that did not start", "container", id, "error", err)
	}
}

// An agent is one in a container.
type agent struct {
	engine    *engine
	container string
	client    *client.Client
	remarks   remarks
}

// boot starts the container and connects to its agent.
func (a *agent) boot(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	step, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTimeout)
	defer cancel()
	stream, err := a.engine.api.Attach(step, a.container, &a.remarks)
	if err != nil {
		return a.engine.fail("attach to container", err)
	}
	if err := a.engine.api.StartContainer(step, a.container); err != nil {
		_ = stream.Close()
		if strings.Contains(err.Error(), command.Name) {
			return fmt.Errorf("%w: %w", errNoAgent, a.engine.startError(err))
		}
		return a.engine.startError(err)
	}
	greeting, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	if a.client, err = client.New(greeting, stream); err != nil {
		if remarks := a.remarks.String(); remarks != "" {
			err = fmt.Errorf("%w: %s", err, remarks)
		}
		return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("docker: %w", err))
	}
	return nil
}

// Client implements launch.Agent.
func (a *agent) Client() *client.Client { return a.client }

// Counters implements launch.Agent. The agent reads those of its own container.
func (a *agent) Counters() (backend.Counters, error) { return backend.Counters{}, nil }

// Autopsy implements launch.Agent.
func (a *agent) Autopsy(ctx context.Context) (outOfMemory bool, remark string) {
	return a.engine.fates.outOfMemory(ctx, a.container), a.remarks.String()
}

// Destroy implements launch.Agent.
func (a *agent) Destroy(ctx context.Context) error {
	_ = a.client.Close() // the engine ends it the hard way
	if err := a.engine.remove(ctx, a.container); err != nil {
		return err
	}
	a.engine.fates.forget(a.container)
	return nil
}
