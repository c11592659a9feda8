package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

const (
	// describeTimeout bounds the program that describes a language here. The slowest has to compile a
	// part of Go's standard library first.
	describeTimeout = 20 * time.Second
	// describeAgain is how long the catalogue's own data are used after that has failed.
	describeAgain = time.Minute
)

// details are what is known of a language until some time, or for good if that is zero.
type details struct {
	lang.Details
	until time.Time
}

// Details returns what is true of a language here: the catalogue's data with the version and the
// libraries that a program in a sandbox has found. The sandbox is made once; when there can be none,
// the catalogue's data have to do. The error is about the name, or the context's own.
func (e *Engine) Details(ctx context.Context, name string) (lang.Details, error) {
	language, err := e.options.Catalog.Lookup(name)
	if err != nil {
		return lang.Details{}, backend.Wrap(backend.ErrInvalid, err)
	}
	if known, ok := e.known(language.Name); ok {
		return known, nil
	}
	// It goes on when the client that asked first is gone: others may be waiting.
	detached := context.WithoutCancel(ctx)
	answer := e.describing.DoChan(language.Name, func() (any, error) {
		return e.describe(detached, language), nil
	})
	select {
	case got := <-answer:
		return got.Val.(lang.Details), nil
	case <-ctx.Done():
		return lang.Details{}, ctx.Err()
	}
}

// known returns the details that were found before.
func (e *Engine) known(language string) (lang.Details, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	d, ok := e.described[language]
	return d.Details, ok && (d.until.IsZero() || time.Now().Before(d.until))
}

// describe asks the language itself and remembers the answer.
func (e *Engine) describe(ctx context.Context, language *lang.Language) lang.Details {
	d := details{Details: language.Details}
	version, libraries, err := e.inspect(ctx, language)
	if err == nil {
		d.Version, d.PreinstalledLibraries = version, libraries
	} else {
		e.options.Logger.WarnContext(ctx, "describe language; its details are those of the catalogue",
			"language", language.Name, "error", err)
		d.until = time.Now().Add(describeAgain)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.described[language.Name] = d
	return d.Details
}

func (e *Engine) inspect(ctx context.Context, language *lang.Language) (version string, libraries []string, err error) {
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return "", nil, err
	}
	defer done()
	place, err := e.place(ctx, language)
	if err != nil {
		return "", nil, err
	}
	if err := downloaded(ctx, place); err != nil {
		return "", nil, err
	}
	printed, err := e.ask(ctx, place, language.Describe(), "", describeTimeout)
	if err != nil {
		return "", nil, err
	}
	var answer struct {
		Version   string   `json:"version"`
		Libraries []string `json:"libraries"`
	}
	if err := json.Unmarshal([]byte(printed), &answer); err != nil {
		return "", nil, fmt.Errorf("engine: describe %s: %w", language.Name, err)
	}
	if answer.Version == "" {
		return "", nil, fmt.Errorf("engine: describe %s: no version in %q", language.Name, printed)
	}
	return answer.Version, append([]string{}, answer.Libraries...), nil
}

// downloaded returns an error if a sandbox at the place would have to wait for its image: to describe a
// language is no reason to download one.
func downloaded(ctx context.Context, p place) error {
	store, ok := p.backend.(backend.ImageStore)
	if !ok {
		return nil
	}
	has, err := store.HasImage(ctx, p.spec.Image)
	if err == nil && !has {
		err = backend.Wrap(backend.ErrNotFound, fmt.Errorf("engine: image %s is not downloaded yet; the first call does that", p.spec.Image))
	}
	return err
}
