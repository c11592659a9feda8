// Package engine runs one request: it plans, takes a sandbox, runs the steps, collects what came out
// and gives the sandbox back.
package engine

import (
	"io"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// A Request is one piece of code to run.
type Request struct {
	// Language is a name or an alias, in any case; empty means python.
	Language string
	Code     string
	// Libraries are package names in the language's own notation.
	Libraries []string
	Stdin     string
	// Input, if not nil, takes the place of Stdin. It goes to the run step.
	Input io.Reader
	// Stdout and Stderr, both or neither, receive what the program writes as it comes, all of it and
	// unchanged. The texts of the Response then stay empty. Compilers write to Stderr.
	Stdout, Stderr io.Writer
	// Timeout bounds compiling and running together; 0 means the engine's default.
	Timeout time.Duration
	// Artifacts asks for pictures and files.
	Artifacts bool
	// Progress, if not nil, is told what happens. It must not block.
	Progress func(Event)
}

// An Event is a step forward in a request.
type Event struct {
	// Message is a short sentence, or the last line of output.
	Message string
}

// A Response is what became of a request. That the program failed is not an error.
type Response struct {
	// Status is "ok" when every step exited with 0, "error" when one did not, else the outcome that
	// ended the run.
	Status string
	// ExitCode, Signal and Step are those of the step that ended the run.
	ExitCode int
	Signal   int
	Step     string
	// Stdout and Stderr are valid UTF-8. Where bytes were dropped they hold a line that says so.
	Stdout, Stderr string
	// StdoutOmitted and StderrOmitted are the numbers of bytes dropped.
	StdoutOmitted, StderrOmitted int64
	// Artifacts is what the code made.
	Artifacts artifact.Set
	// Usage sums up all steps.
	Usage backend.Usage
	// Message says in one or two sentences why the status is not "ok" and what to do, for example
	// which variable raises the limit that was hit. Empty when there is nothing to say.
	Message string
	// Backend and Isolation say where the code ran; Unenforced names limits that this backend could
	// not enforce.
	Backend    string
	Isolation  string
	Unenforced []string
	// Language is the canonical name.
	Language string
}

// Status values that are not an outcome of the backend.
const (
	StatusOK    = "ok"
	StatusError = "error"
)
