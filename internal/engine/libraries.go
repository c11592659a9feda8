package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// libraries makes the libraries of a request available at a place.
type libraries interface {
	// provide returns when a program at the place can use all libraries, whose names have been checked.
	provide(ctx context.Context, p place, names []string) error
}

// present provides the libraries that are there already. It installs none.
type present struct{ engine *Engine }

func (l *present) provide(_ context.Context, p place, names []string) error {
	return backend.Wrap(backend.ErrUnsupported, fmt.Errorf("libraries: installing %s failed: this build has no installer for %s; the code was not run", strings.Join(names, ", "), p.language.Name))
}
