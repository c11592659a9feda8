package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine/environment"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine/limit"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// The bounds of a call that names none.
const (
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 10 * time.Minute
)

// Options are what an [Engine] works with. Catalog and Open are required.
type Options struct {
	Catalog *lang.Catalog
	// Open opens the backend. It is called when the first request needs it, and again for the next
	// request after it has failed. The engine closes the backend.
	Open func(ctx context.Context) (backend.Backend, error)
	// Environments keeps what languages build once; nil means that every program builds it again.
	Environments *environment.Store
	// Gate bounds how many requests run at once; nil lets all in.
	Gate *limit.Gate
	// Images replace the images of languages, by the name of the language.
	Images map[string]string
	// Limits and Network hold for every sandbox.
	Limits  backend.Limits
	Network backend.Network
	// DefaultTimeout bounds a request without one, MaxTimeout every request; 0 means the constant of
	// the same name.
	DefaultTimeout, MaxTimeout time.Duration
	// Output bounds what is kept of each output stream.
	Output backend.OutputLimit
	// Artifacts bounds the pictures and files of a request.
	Artifacts artifact.Limits
	// Logger gets what the client does not need to know; nil means nobody does.
	Logger *slog.Logger
}

// An Engine runs requests. Its methods may be called concurrently.
type Engine struct {
	options   Options
	backend   opener
	libraries libraries
	closings  *closings

	describing singleflight.Group // by language
	hooks      sync.Map           // by language

	mu        sync.Mutex
	described map[string]details // by language
	running   sync.WaitGroup
	stop      chan struct{} // closed by Close
}

// New returns an engine. It touches nothing until the first request.
func New(o Options) *Engine {
	o.DefaultTimeout = cmp.Or(o.DefaultTimeout, DefaultTimeout)
	o.MaxTimeout = cmp.Or(o.MaxTimeout, MaxTimeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		options:   o,
		backend:   newOpener(o.Open),
		closings:  newClosings(o.Logger),
		described: make(map[string]details),
		stop:      make(chan struct{}),
	}
	e.libraries = &present{engine: e}
	return e
}

// Execute runs one request. That the program failed is in the Response; the error means that the
// request could not be carried out, and wraps a kind of package backend or is the context's own. When
// ctx ends, the program is killed.
func (e *Engine) Execute(ctx context.Context, req Request) (*Response, error) {
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	report := newReporter(req.Progress)
	defer report.stop()

	job, err := e.prepare(ctx, req, report)
	if err != nil {
		return nil, ended(ctx, err)
	}
	response, err := e.run(ctx, job)
	if err != nil {
		return nil, ended(ctx, err)
	}
	return response, nil
}

// Close kills what runs, waits until all sandboxes are gone and closes the backend. Requests fail from
// then on. It may be called more than once.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	select {
	case <-e.stop:
	default:
		close(e.stop)
	}
	e.mu.Unlock()

	gone := make(chan struct{})
	go func() {
		e.running.Wait()
		e.closings.wait()
		close(gone)
	}()
	patience, cancel := ctx, context.CancelFunc(func() {})
	if deadline, ok := ctx.Deadline(); ok {
		patience, cancel = context.WithDeadline(ctx, deadline.Add(-closeReserve))
	}
	defer cancel()
	var err error
	select {
	case <-gone:
	case <-patience.Done():
		err = fmt.Errorf("engine: close: some sandboxes were not gone in time: %w", patience.Err())
	}
	// The backend knows of every sandbox, also of those that are still being closed.
	return errors.Join(err, e.backend.close(ctx))
}

// closeReserve is the time that is left to the backend for what the engine could not remove in time.
const closeReserve = time.Second

// errStopping is what requests get when the server ends.
var errStopping = backend.Wrap(backend.ErrUnavailable, errors.New("engine: the server is stopping; start it again"))

// begin ties a request to the life of the engine. The request ends with done.
func (e *Engine) begin(parent context.Context) (ctx context.Context, done func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.stop:
		return nil, nil, errStopping
	default:
	}
	ctx, cancel := context.WithCancelCause(parent)
	e.running.Go(func() {
		select {
		case <-e.stop:
			cancel(errStopping)
		case <-ctx.Done():
		}
	})
	e.running.Add(1)
	return ctx, func() { cancel(nil); e.running.Done() }, nil
}

// ended returns why the request's context ended, if it did, in place of an error that came of it.
func ended(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errStopping):
		return errStopping
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return err
	}
}
