package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine/environment"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// buildTimeout bounds the building of a base. Go's standard library takes 22 s on two processors.
const buildTimeout = 10 * time.Minute

// What a build needs, whatever the limits of calls are: it runs a compiler on known code.
const (
	buildMemory    = 2 << 30
	buildDisk      = 4 << 30
	buildProcesses = 512
)

// addBase mounts what the language builds once, and builds it if this is the first time. Without it
// programs run too, only slower, so that a failure is no reason to refuse them. The base is in use until
// release.
func (e *Engine) addBase(ctx context.Context, p *place, report *reporter) (release func(), err error) {
	base := e.baseOf(*p)
	if base == nil {
		return func() {}, nil
	}
	at := *p
	recipe := baseRecipe(at, base)
	recipe.Waiting = func() {
		report.say("preparing what all " + p.language.Name + " programs share; this happens once and can take a minute")
	}
	recipe.Build = func(ctx context.Context, unpack func(string, io.Reader) error) error {
		return e.build(ctx, at, base, unpack)
	}
	env, err := e.options.Environments.Get(ctx, recipe)
	if ctx.Err() != nil {
		if err == nil {
			env.Release()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		e.options.Logger.WarnContext(ctx, "programs of this language will start slowly", "language", p.language.Name, "error", err)
		return func() {}, nil
	}
	p.mount(env, base)
	return env.Release, nil
}

// findBase mounts the base if it was built before.
func (e *Engine) findBase(p *place) (release func()) {
	base := e.baseOf(*p)
	if base == nil {
		return func() {}
	}
	env := e.options.Environments.Find(baseRecipe(*p, base))
	if env == nil {
		return func() {}
	}
	p.mount(env, base)
	return env.Release
}

// baseOf returns what the language builds once, or nil if there is nothing or it cannot be mounted.
func (e *Engine) baseOf(p place) *lang.Base {
	if e.options.Environments == nil || !p.backend.Capabilities().Prefix {
		return nil
	}
	return p.language.Base(e.input(p, "", p.runtime.Env))
}

// mount lets the sandboxes at the place see an environment.
func (p *place) mount(env *environment.Environment, base *lang.Base) {
	p.spec.Prefix = env.Dir
	if base.Scratch {
		p.spec.Scratch = path.Join(backend.PrefixDir, base.Dir)
	}
}

// baseRecipe is the recipe of a base but for the building.
func baseRecipe(p place, base *lang.Base) environment.Recipe {
	return environment.Recipe{Key: baseKey(p, base), FutureTime: base.FutureTime, Stamp: stamp(base)}
}

// stamp names the stamp of a base relative to the environment.
func stamp(base *lang.Base) string {
	if base.Stamp == "" {
		return ""
	}
	return path.Join(base.Dir, base.Stamp)
}

// baseKey names all that the content of a base depends on.
func baseKey(p place, base *lang.Base) []string {
	key := []string{"base", p.language.Name, p.backend.Name(), p.spec.Image, p.spec.Runtime, runtime.GOOS, runtime.GOARCH, base.Dir}
	for _, f := range base.Files {
		key = append(key, f.Name, string(f.Data))
	}
	for _, step := range base.Steps {
		// Of the environment, the limits of the sandbox and nothing else differ between servers.
		key = append(key, step.Args...)
	}
	return key
}

// build builds a base in a sandbox of its own.
func (e *Engine) build(ctx context.Context, p place, base *lang.Base, unpack func(string, io.Reader) error) error {
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	limits := &p.spec.Limits
	limits.Memory = atLeast(limits.Memory, buildMemory)
	limits.Disk = atLeast(limits.Disk, buildDisk)
	limits.FileSize = atLeast(limits.FileSize, buildDisk)
	limits.Processes = atLeast(limits.Processes, buildProcesses)
	sandbox, err := p.backend.Create(ctx, p.spec)
	if err != nil {
		return err
	}
	defer e.closings.close(ctx, sandbox, func() {})
	j := &job{
		spec:    p.spec,
		plan:    lang.Plan{Files: base.Files, Steps: base.Steps},
		timeout: buildTimeout,
		output:  backend.OutputLimit{Tail: maxAnswer},
		report:  newReporter(nil),
	}
	if err := copyIn(ctx, sandbox, j); err != nil {
		return err
	}
	result, err := runSteps(ctx, sandbox, j)
	if err != nil {
		return err
	}
	if status, message := judge(result, j.timeout, j.timeout, p.spec.Limits, j.output); status != StatusOK {
		return fmt.Errorf("%s: exit code %d: %s %s", result.step, result.exit.Code, message, lastLine(result.stderr.String()))
	}
	archive, err := sandbox.CopyOut(ctx, backend.Selection{Dir: path.Join(p.spec.WorkDir, base.Dir)})
	if err != nil {
		return err
	}
	return errors.Join(unpack(base.Dir, archive), archive.Close())
}

// atLeast raises a limit; 0 is none.
func atLeast(limit, least int64) int64 {
	if limit == 0 {
		return 0
	}
	return max(limit, least)
}
