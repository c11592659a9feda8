package engine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// A job is a request of which everything is known that a sandbox needs.
type job struct {
	language *lang.Language
	backend  backend.Backend
	spec     backend.Spec
	plan     lang.Plan
	// hooks is an archive for the hook directory; empty for none.
	hooks []byte
	// collect asks for artifacts.
	collect        bool
	timeout        time.Duration
	output         backend.OutputLimit
	input          io.Reader
	stdout, stderr io.Writer // nil: into the response
	report         *reporter
	// release gives back what the sandbox had mounted, once it is gone.
	release func()
}

// prepare checks a request and finds what it needs. No code of the request runs here.
func (e *Engine) prepare(ctx context.Context, req Request, report *reporter) (*job, error) {
	language, err := e.options.Catalog.Lookup(cmp.Or(strings.TrimSpace(req.Language), "python"))
	if err != nil {
		return nil, backend.Wrap(backend.ErrInvalid, err)
	}
	if err := language.CheckLibraries(req.Libraries); err != nil {
		return nil, backend.Wrap(backend.ErrInvalid, err)
	}
	timeout, err := e.timeout(req.Timeout)
	if err != nil {
		return nil, err
	}
	place, err := e.place(ctx, language)
	if err != nil {
		return nil, err
	}
	if len(req.Libraries) > 0 {
		report.say("looking for libraries")
		if err := e.libraries.provide(ctx, &place, req.Libraries); err != nil {
			return nil, err
		}
	}
	release, err := e.addBase(ctx, &place, report)
	if err != nil {
		return nil, err
	}
	j := &job{
		release:  release,
		language: language,
		backend:  place.backend,
		spec:     place.spec,
		collect:  req.Artifacts,
		timeout:  timeout,
		output:   e.options.Output,
		input:    req.Input,
		stdout:   serial(req.Stdout),
		stderr:   serial(req.Stderr),
		report:   report,
	}
	if j.input == nil && req.Stdin != "" {
		j.input = strings.NewReader(req.Stdin)
	}
	if err := e.plan(j, place, req.Code); err != nil {
		release()
		return nil, err
	}
	return j, nil
}

// plan adds the files and steps that run the code.
func (e *Engine) plan(j *job, p place, code string) error {
	env := p.runtime.Env
	if j.collect {
		hooks, err := e.hooksOf(j.language.Name)
		if err != nil {
			return err
		}
		j.hooks = hooks.archive
		env = slices.Concat(env, hooks.env)
	}
	var err error
	j.plan, err = j.language.Plan(e.input(p, code, env))
	return backend.Wrap(backend.ErrInvalid, err)
}

// timeout returns what bounds a request that asks for d.
func (e *Engine) timeout(d time.Duration) (time.Duration, error) {
	if d < 0 {
		return 0, backend.Wrap(backend.ErrInvalid, fmt.Errorf("timeout: %v is negative; give seconds above 0", d))
	}
	return min(cmp.Or(d, e.options.DefaultTimeout), e.options.MaxTimeout), nil
}

// A place is where the programs of a language run.
type place struct {
	language *lang.Language
	backend  backend.Backend
	runtime  backend.Runtime
	spec     backend.Spec
}

// place finds the language on the backend.
func (e *Engine) place(ctx context.Context, language *lang.Language) (place, error) {
	b, err := e.backend.get(ctx)
	if err != nil {
		return place{}, err
	}
	p := place{language: language, backend: b, spec: backend.Spec{
		WorkDir: backend.DefaultWorkDir,
		Network: e.options.Network,
		Limits:  e.options.Limits,
	}}
	host, ok := b.(backend.HostRuntimes)
	if !ok {
		p.spec.Image = cmp.Or(e.options.Images[language.Name], language.Image)
		return p, nil
	}
	p.runtime, err = host.Locate(ctx, backend.Need{
		Language: language.Name,
		Programs: language.Programs,
		Package:  language.Package,
	})
	p.spec.Runtime = p.runtime.ID
	return p, err
}

// input is what a plan for code at a place is made from.
func (e *Engine) input(p place, code string, env []string) lang.Input {
	in := lang.Input{
		Code:     code,
		WorkDir:  p.spec.WorkDir,
		HomeDir:  backend.HomeDir,
		Programs: p.runtime.Programs,
		Env:      env,
		CPUs:     int((p.spec.Limits.MilliCPUs + 999) / 1000),
		Memory:   p.spec.Limits.Memory,
	}
	if p.spec.Prefix != "" {
		in.PrefixDir = backend.PrefixDir
	}
	return in
}
