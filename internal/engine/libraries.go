package engine

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// libraries makes the libraries of a request available at a place.
type libraries interface {
	// provide returns when a program at the place can use all libraries, or says why it cannot. The
	// names have passed lang.Language.CheckLibraries.
	provide(ctx context.Context, p *place, names []string) error
}

// present provides what the runtime has already, and installs nothing.
type present struct {
	engine *Engine

	mu sync.Mutex
	// found holds the runtimes with libraries that were found in them.
	found map[string]bool
}

const (
	// presentTimeout bounds the program that looks for libraries. That of C++ has to be compiled.
	presentTimeout = 20 * time.Second
	// maxFound bounds what is remembered.
	maxFound = 1000
)

// checks are programs, one for each language that can tell what is installed. They read names of
// libraries, one a line, and print a line with a name, a tab and a reason for each that is missing.
//
//go:embed present
var checks embed.FS

// check returns the program of a language.
func check(language string) (code string, ok bool) {
	endings := map[string]string{"python": "py", "javascript": "js", "ruby": "rb", "r": "R", "cpp": "cpp"}
	text, err := checks.ReadFile("present/" + language + "." + endings[language])
	return string(text), err == nil
}

// provide implements libraries.
func (l *present) provide(ctx context.Context, p *place, names []string) error {
	names = trimmed(names)
	id := strings.Join(append([]string{p.language.Name, p.spec.Runtime, p.spec.Image}, names...), "\n")
	if l.known(id) {
		return nil
	}
	missing, err := l.missing(ctx, *p, names)
	if err != nil {
		return backend.Wrap(backend.ErrUnavailable, fmt.Errorf("libraries: look for %s: %w; try again", strings.Join(names, ", "), err))
	}
	if len(missing) > 0 {
		return notInstalled(p, missing)
	}
	l.remember(id)
	return nil
}

// A lack is a library that is not there, and why that is so.
type lack struct{ name, reason string }

// missing returns the libraries that are not there.
func (l *present) missing(ctx context.Context, p place, names []string) ([]lack, error) {
	code, ok := check(p.language.Name)
	if !ok {
		var all []lack
		for _, name := range names {
			all = append(all, lack{name, "it cannot be installed"})
		}
		return all, nil
	}
	printed, err := l.engine.ask(ctx, p, code, strings.Join(names, "\n")+"\n", presentTimeout)
	if err != nil {
		return nil, err
	}
	var missing []lack
	for line := range strings.Lines(printed) {
		name, reason, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || !slices.Contains(names, name) {
			return nil, fmt.Errorf("engine: unexpected answer %q", line)
		}
		missing = append(missing, lack{name, reason})
	}
	return missing, nil
}

func (l *present) known(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.found[id]
}

func (l *present) remember(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.found) >= maxFound || l.found == nil {
		l.found = make(map[string]bool)
	}
	l.found[id] = true
}

// notInstalled says what is missing, that nothing was run, and what the user can do.
func notInstalled(p *place, missing []lack) error {
	var names, reasons []string
	for _, m := range missing {
		names = append(names, m.name)
		reasons = append(reasons, m.name+": "+m.reason)
	}
	remedy := "write the code without it"
	if p.spec.Image != "" {
		remedy += ", or have the operator of this server choose an image that has it (SANDBOX_IMAGE_" + strings.ToUpper(p.language.Name) + "; now " + p.spec.Image + ")"
	} else if command := installCommand(p, names); command != "" {
		remedy = "have it installed on the machine of this server with: " + command
	}
	return backend.Wrap(backend.ErrUnsupported, errors.New(
		"libraries: installing "+strings.Join(names, ", ")+" failed: "+strings.Join(reasons, "; ")+
			", and this server does not install packages. The code was not run; "+remedy))
}

// installCommand returns what installs libraries into the runtime of the place, for a shell, where that
// is a command that sandboxes see the effect of: gems and global npm packages lie outside of the runtime.
func installCommand(p *place, names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = name
		if strings.ContainsAny(name, " <>=!~^*[]") { // the grammars let no quotes in
			quoted[i] = "'" + name + "'"
		}
	}
	list := strings.Join(quoted, " ")
	switch p.language.Name {
	case "python":
		python := p.runtime.Programs["python3"]
		if python == "" {
			python = "python3"
		}
		return python + " -m pip install " + list
	case "r":
		return `Rscript -e 'install.packages(c("` + strings.Join(names, `", "`) + `"))'`
	case "cpp":
		return "apt-get install " + list
	}
	return ""
}

func trimmed(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strings.TrimSpace(name)
	}
	return out
}
