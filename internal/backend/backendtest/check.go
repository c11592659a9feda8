package backendtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A check is what a case works with.
type check struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // lives as long as the case
	backend backend.Backend
	// spec has no limits and no network; a case changes its copy.
	spec      backend.Spec
	python    string
	pythonEnv []string
}

func newCheck(t *testing.T, b backend.Backend, bound time.Duration) *check {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return &check{t: t, ctx: ctx, backend: b}
}

// with returns the case's spec with limits.
func (c *check) with(limits backend.Limits) backend.Spec {
	spec := c.spec
	spec.Limits = limits
	return spec
}

// create makes a sandbox that is closed with the case.
func (c *check) create(spec backend.Spec) backend.Sandbox {
	c.t.Helper()
	s, err := c.backend.Create(c.ctx, spec)
	if err != nil {
		c.t.Fatalf("create: %v", err)
	}
	c.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			c.t.Errorf("close: %v", err)
		}
	})
	return s
}

// sandbox makes a sandbox from the plain spec.
func (c *check) sandbox() backend.Sandbox {
	c.t.Helper()
	return c.create(c.spec)
}

// A result is what became of a command.
type result struct {
	backend.Exit

	out, err string
	took     time.Duration
}

func (r result) String() string {
	return fmt.Sprintf("%s, code %d, signal %d, reached %q, after %v\nstdout: %s\nstderr: %s",
		r.Outcome, r.Code, r.Signal, r.Reached, r.took, shorten(r.out), shorten(r.err))
}

func shorten(s string) string {
	const most = 600
	if len(s) > most {
		return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// A running command is one that was started.
type running struct {
	process  backend.Process
	out, err *bytes.Buffer
	began    time.Time
}

// start starts a command whose output is kept.
func (c *check) start(ctx context.Context, s backend.Sandbox, cmd backend.Command) running {
	c.t.Helper()
	r := running{out: new(bytes.Buffer), err: new(bytes.Buffer), began: time.Now()}
	if cmd.Stdout == nil {
		cmd.Stdout = r.out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = r.err
	}
	if cmd.Env == nil {
		cmd.Env = baseEnv()
	}
	var err error
	if r.process, err = s.Start(ctx, cmd); err != nil {
		c.t.Fatalf("start %q: %v", cmd.Args[0], err)
	}
	return r
}

// wait waits for it.
func (c *check) wait(r running) result {
	c.t.Helper()
	exit, err := r.process.Wait()
	if err != nil {
		c.t.Fatalf("wait: %v", err)
	}
	return result{Exit: exit, out: r.out.String(), err: r.err.String(), took: time.Since(r.began)}
}

// run starts a command and waits for it.
func (c *check) run(s backend.Sandbox, cmd backend.Command) result {
	c.t.Helper()
	return c.wait(c.start(c.ctx, s, cmd))
}

// sh runs a shell script.
func (c *check) sh(s backend.Sandbox, script string) result {
	c.t.Helper()
	return c.run(s, shell(script))
}

// py runs Python code in isolated mode.
func (c *check) py(s backend.Sandbox, code string, args ...string) result {
	c.t.Helper()
	return c.run(s, c.pyCommand(code, args...))
}

func (c *check) pyCommand(code string, args ...string) backend.Command {
	return backend.Command{
		Args: append([]string{c.python, "-I", "-c", code}, args...),
		Env:  append(baseEnv(), c.pythonEnv...),
	}
}

// expect fails the case if a command did not exit with code, or wrote something else than out.
func (c *check) expect(r result, code int, out string) {
	c.t.Helper()
	if r.Outcome != backend.Exited || r.Code != code || r.out != out {
		c.t.Errorf("want exited, code %d, stdout %s; got %v", code, shorten(out), r)
	}
}

// succeed fails the case at once if a command did not exit with 0.
func (c *check) succeed(r result) result {
	c.t.Helper()
	if r.Outcome != backend.Exited || r.Code != 0 {
		c.t.Fatalf("want exit code 0; got %v", r)
	}
	return r
}

// refused fails the case if a call did not fail with one of the kinds.
func (c *check) refused(what string, err error, kinds ...error) {
	c.t.Helper()
	if !slices.Contains(kinds, backend.KindOf(err)) || backend.KindOf(err) == nil {
		c.t.Errorf("%s: got error %v of kind %v, want one of %v", what, err, backend.KindOf(err), kinds)
	}
}

func shell(script string) backend.Command {
	return backend.Command{Args: []string{"/bin/sh", "-c", script}, Env: baseEnv()}
}

func baseEnv() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + backend.HomeDir, "LC_ALL=C.UTF-8"}
}

// lines splits output into its lines.
func lines(s string) []string {
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
