package engine

import (
	"bytes"
	"context"
	"strconv"
	"sync"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// run waits for the job's turn and runs it in a sandbox of its own. The sandbox is removed after run
// has returned.
func (e *Engine) run(ctx context.Context, j *job) (*Response, error) {
	leave, err := e.enter(ctx, j.report)
	if err != nil {
		j.release()
		return nil, err
	}
	defer leave()
	j.report.say("starting a sandbox")
	sandbox, err := j.backend.Create(ctx, j.spec)
	if err != nil {
		j.release()
		return nil, err
	}
	defer e.closings.close(ctx, sandbox, j.release)
	if err := copyIn(ctx, sandbox, j); err != nil {
		return nil, err
	}
	result, err := runSteps(ctx, sandbox, j)
	if err != nil {
		return nil, err
	}
	capabilities := j.backend.Capabilities()
	response := &Response{
		Language:      j.language.Name,
		Backend:       j.backend.Name(),
		Isolation:     capabilities.Isolation,
		Unenforced:    capabilities.Unenforced(j.spec.Limits),
		Step:          result.step,
		ExitCode:      result.exit.Code,
		Signal:        result.exit.Signal,
		Stdout:        result.stdout.String(),
		Stderr:        result.stderr.String(),
		StdoutOmitted: result.stdout.omitted,
		StderrOmitted: result.stderr.omitted,
		Usage:         result.usage,
	}
	response.Status, response.Message = judge(result, j.timeout, e.options.MaxTimeout, j.spec.Limits, j.output)
	if j.collect {
		j.report.say("collecting pictures and files")
		response.Artifacts = e.collect(ctx, sandbox, j)
	}
	return response, nil
}

// enter waits for a turn.
func (e *Engine) enter(ctx context.Context, report *reporter) (leave func(), err error) {
	if e.options.Gate == nil {
		return func() {}, nil
	}
	return e.options.Gate.Enter(ctx, func(position int) {
		report.say("waiting for a turn: number " + strconv.Itoa(position) + " in the queue")
	})
}

// copyIn puts the files of the plan and the hooks into the sandbox.
func copyIn(ctx context.Context, sandbox backend.Sandbox, j *job) error {
	files, err := archive(j.plan.Files)
	if err != nil {
		return err
	}
	var hooks error
	var both sync.WaitGroup
	if len(j.hooks) > 0 {
		both.Go(func() { hooks = sandbox.CopyIn(ctx, backend.HookDir, bytes.NewReader(j.hooks)) })
	}
	err = sandbox.CopyIn(ctx, j.spec.WorkDir, bytes.NewReader(files))
	both.Wait()
	if err != nil {
		return err
	}
	return hooks
}
