package backend

import "errors"

// The kinds of error that cross the boundary. Drivers wrap exactly one of them; callers ask with
// errors.Is and never look at texts. A text reads `backend: step object: cause` and ends in what the
// user can do.
var (
	// ErrInvalid: an argument or a setting is wrong.
	ErrInvalid = errors.New("invalid")
	// ErrUnsupported: the backend cannot do this; the text names both.
	ErrUnsupported = errors.New("unsupported")
	// ErrRefused: a policy forbids it.
	ErrRefused = errors.New("refused")
	// ErrUnavailable: an engine, a program or a feature of the kernel is missing; the text ends in
	// the remedy.
	ErrUnavailable = errors.New("unavailable")
	// ErrNotFound: there is no such thing, or no longer.
	ErrNotFound = errors.New("not found")
	// ErrBusy: no capacity within the time allowed.
	ErrBusy = errors.New("busy")
)

// An Error is an error with a kind. Its text is the text of Err alone.
type Error struct {
	// Kind is one of the variables above.
	Kind error
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap lets errors.Is find both the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

// Wrap gives err a kind. It returns nil if err is nil, and err itself if it has a kind already.
func Wrap(kind, err error) error {
	if err == nil {
		return nil
	}
	if KindOf(err) != nil {
		return err
	}
	return &Error{Kind: kind, Err: err}
}

// KindOf returns the kind of err, or nil if it has none: a bug, or the context's own error.
func KindOf(err error) error {
	for _, kind := range []error{ErrInvalid, ErrUnsupported, ErrRefused, ErrUnavailable, ErrNotFound, ErrBusy} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return nil
}
