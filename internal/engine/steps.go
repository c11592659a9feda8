package engine

import (
	"context"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// overdue is how long after the end of its time a program may still be there before the server stops
// waiting for the sandbox to kill it. It covers the start of the program, which its time does not.
const overdue = 10 * time.Second

// A result is what became of the steps of a job.
type result struct {
	// step is the one that ended the run, compiling whether it belongs to a compiler, and exit its end.
	step      string
	compiling bool
	exit      backend.Exit
	// usage sums up all steps, reached joins the limits they hit.
	usage          backend.Usage
	reached        []string
	stdout, stderr text
}

// runSteps runs the steps of the plan until one does not end with 0. All of them together have the
// job's time.
func runSteps(ctx context.Context, sandbox backend.Sandbox, j *job) (*result, error) {
	r := &result{}
	for _, step := range j.plan.Steps {
		r.step, r.compiling = step.Name, step.Compile
		left := j.timeout - r.usage.Wall
		if left <= 0 {
			r.exit = backend.Exit{Outcome: backend.TimedOut, Code: backend.CodeTimedOut}
			break
		}
		j.report.say("step: " + step.Name)
		if err := r.run(ctx, sandbox, j, step, left); err != nil {
			return nil, err
		}
		if r.exit.Outcome != backend.Exited || r.exit.Code != 0 {
			break
		}
	}
	return r, nil
}

// run runs one step and adds what it did to r.
func (r *result) run(ctx context.Context, sandbox backend.Sandbox, j *job, step lang.Step, left time.Duration) error {
	live := j.stdout
	if step.Compile {
		live = j.stderr
	}
	stdout, stderr := newCapture(live, j.report), newCapture(j.stderr, j.report)
	cmd := backend.Command{
		Args: step.Args, Env: step.Env, Dir: step.Dir,
		Stdout: stdout, Stderr: stderr,
		Timeout: left,
		Output:  j.output,
	}
	if !step.Compile {
		cmd.Stdin = j.input
	}
	if j.stdout != nil || j.stderr != nil {
		cmd.Output.Head, cmd.Output.Tail = 0, 0
	}
	exit, err := start(ctx, sandbox, cmd)
	if err != nil {
		return err
	}
	r.exit = exit
	r.usage.Wall += exit.Usage.Wall
	r.usage.CPU += exit.Usage.CPU
	r.usage.PeakMemory = max(r.usage.PeakMemory, exit.Usage.PeakMemory)
	r.reached = append(r.reached, exit.Reached...)
	// What a compiler prints is not output of the program.
	printed := &r.stdout
	if step.Compile {
		printed = &r.stderr
	}
	printed.add(stdout.kept.Bytes(), exit.Stdout)
	r.stderr.add(stderr.kept.Bytes(), exit.Stderr)
	return nil
}

// start runs a command to its end. A sandbox that does not end it in time counts as a time-out.
func start(ctx context.Context, sandbox backend.Sandbox, cmd backend.Command) (backend.Exit, error) {
	bounded, cancel := context.WithTimeout(ctx, cmd.Timeout+overdue)
	defer cancel()
	began := time.Now()
	process, err := sandbox.Start(bounded, cmd)
	if err != nil {
		return backend.Exit{}, err
	}
	exit, err := process.Wait()
	switch {
	case ctx.Err() != nil:
		return backend.Exit{}, ctx.Err()
	case err != nil:
		return backend.Exit{}, err
	case exit.Outcome == backend.Cancelled && bounded.Err() != nil:
		exit.Outcome, exit.Code, exit.Signal = backend.TimedOut, backend.CodeTimedOut, 0
	}
	if exit.Usage.Wall == 0 {
		exit.Usage.Wall = time.Since(began)
	}
	return exit, nil
}
