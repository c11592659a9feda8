package stage

import (
	"context"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/jail/cgroup"
)

// sweepTimeout is how long the processes of a dead server's sandboxes may take to die.
const sweepTimeout = 30 * time.Second

// sweep waits for the end of the server, which holds the other end of standard input, and removes what
// it could not remove itself.
func sweep(owner string) int {
	signal.Ignore()
	_, _ = io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	if err := cgroup.RemoveTree(ctx, owner); err != nil {
		return 1
	}
	return 0
}
