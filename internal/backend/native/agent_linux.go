package native

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/client"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail/cgroup"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/launch"
)

var _ launch.Agent = (*agent)(nil)

// An agent is the first process of one set of namespaces.
type agent struct {
	group   *cgroup.Group
	conn    *os.File
	client  *client.Client
	process *os.Process
	exited  chan struct{} // closed when process is gone, and with it every process inside
}

// Client implements launch.Agent.
func (a *agent) Client() *client.Client { return a.client }

// Counters implements launch.Agent.
func (a *agent) Counters() (backend.Counters, error) {
	events, err := a.group.Events()
	if err != nil {
		return backend.Counters{}, err
	}
	cpu, peak, err := a.group.Usage()
	return backend.Counters{OOMKills: events.OOMKills, ProcessHits: events.ProcessHits, CPU: cpu, PeakMemory: peak}, err
}

// Autopsy implements launch.Agent. The counters tell.
func (a *agent) Autopsy(context.Context) (outOfMemory bool, remark string) { return false, "" }

// Destroy implements launch.Agent. Killing the first process of a pid namespace kills all the others,
// and the kernel reaps them before it lets go of the first.
func (a *agent) Destroy(ctx context.Context) error {
	if a.process != nil {
		if err := a.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill: %w", err)
		}
	}
	if a.client != nil {
		_ = a.client.Close() // it was told the hard way already
	} else if a.conn != nil {
		_ = a.conn.Close()
	}
	if a.process != nil {
		select {
		case <-a.exited:
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of its processes: %w", ctx.Err())
		}
	}
	if err := a.group.Close(ctx); err != nil {
		return fmt.Errorf("remove control group: %w", err)
	}
	return nil
}

// reap waits for the first process, so that it does not stay a zombie.
func (a *agent) reap() {
	_, _ = a.process.Wait()
	close(a.exited)
}
