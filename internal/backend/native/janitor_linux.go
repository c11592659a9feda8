package native

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/native/stage"
)

// sweepTimeout bounds the removal of what dead servers left.
const sweepTimeout = 3 * time.Second

// A janitor is a process that outlives the server by a moment: when the server is gone, however it
// ended, the janitor removes its control groups. Everything else of a sandbox lives in namespaces and
// goes with the last process in them.
type janitor struct {
	process *os.Process
	life    *os.File // the janitor sees its other end close
}

func startJanitor(owner string) (*janitor, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, backend.Wrap(backend.ErrUnavailable, fmt.Errorf("native: start janitor: %w", err))
	}
	defer theirs.Close() //nolint:errcheck // our copy of the read end
	process, err := os.StartProcess(executable, []string{stage.JanitorName, owner}, &os.ProcAttr{
		Env:   []string{},
		Dir:   "/",
		Files: []*os.File{theirs, nil, nil},
		Sys:   &syscall.SysProcAttr{Setsid: true}, // what a terminal sends to the server's group is not for it
	})
	if err != nil {
		return nil, errors.Join(backend.Wrap(backend.ErrUnavailable, fmt.Errorf("native: start janitor: %w", err)), ours.Close())
	}
	return &janitor{process, ours}, nil
}

// close lets the janitor do its work and waits for its end.
func (j *janitor) close() error {
	err := j.life.Close()
	_, waitErr := j.process.Wait()
	return errors.Join(err, waitErr)
}
