package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// maxAnswer bounds what programs of our own may print.
const maxAnswer = 1 << 20

// ask runs a program of our own at a place and returns what it printed. That it fails is an error.
func (e *Engine) ask(ctx context.Context, p place, code, stdin string, timeout time.Duration) (string, error) {
	release := e.findBase(&p) // building one takes longer than the program may
	plan, err := p.language.Plan(e.input(p, code, p.runtime.Env))
	if err != nil {
		release()
		return "", err
	}
	response, err := e.run(ctx, &job{
		language: p.language,
		backend:  p.backend,
		spec:     p.spec,
		plan:     plan,
		timeout:  timeout,
		output:   backend.OutputLimit{Head: maxAnswer, Kill: maxAnswer},
		input:    strings.NewReader(stdin),
		report:   newReporter(nil),
		release:  release,
	})
	if err != nil {
		return "", err
	}
	if response.Status != StatusOK {
		return "", fmt.Errorf("engine: %s: exit code %d: %s %s", response.Step, response.ExitCode,
			response.Message, lastLine(response.Stderr))
	}
	return response.Stdout, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
