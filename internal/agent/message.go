package agent

import (
	"errors"
	"fmt"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// Start is the message of TypeStart. Its fields are those of [backend.Command].
type Start struct {
	Args, Env []string
	Dir       string
	// Stdin says that input follows. Stdout and Stderr say that output is wanted.
	Stdin, Stdout, Stderr bool
	Timeout               time.Duration
	Output                backend.OutputLimit
}

// CopyIn is the message of TypeCopyIn.
type CopyIn struct{ Dir string }

// CopyOut is the message of TypeCopyOut.
type CopyOut struct{ backend.Selection }

// Exit is the message of TypeExit.
type Exit struct{ backend.Exit }

// Failure is the message of TypeError: an error's text and its kind.
type Failure struct {
	// Kind is a kind of error of the backend package, or nil.
	Kind error
	Text string
}

// A Message is what a frame of certain types holds. Only the types of this package implement it.
type Message interface{ code(c *codec) }

// Encode returns m as the payload of a frame.
func Encode(m Message) []byte {
	c := codec{encode: true}
	m.code(&c)
	return c.b
}

// Decode sets m to what the payload of a frame says. Its error wraps [ErrProtocol].
func Decode(payload []byte, m Message) error {
	c := codec{b: payload}
	m.code(&c)
	if c.bad || len(c.b) > 0 {
		return fmt.Errorf("%w: bad message of %d bytes", ErrProtocol, len(payload))
	}
	return nil
}

func (m *Start) code(c *codec) {
	c.strings(&m.Args)
	c.strings(&m.Env)
	c.string(&m.Dir)
	c.bool(&m.Stdin)
	c.bool(&m.Stdout)
	c.bool(&m.Stderr)
	number(c, &m.Timeout)
	number(c, &m.Output.Head)
	number(c, &m.Output.Tail)
	number(c, &m.Output.Kill)
}

func (m *CopyIn) code(c *codec) { c.string(&m.Dir) }

func (m *CopyOut) code(c *codec) {
	c.string(&m.Dir)
	c.strings(&m.Extensions)
	c.strings(&m.Skip)
	c.bool(&m.SkipHidden)
	number(c, &m.MaxFile)
	number(c, &m.MaxFiles)
}

func (m *Exit) code(c *codec) {
	outcome := string(m.Outcome)
	c.string(&outcome)
	m.Outcome = backend.Outcome(outcome)
	number(c, &m.Code)
	number(c, &m.Signal)
	number(c, &m.Usage.Wall)
	number(c, &m.Usage.CPU)
	number(c, &m.Usage.PeakMemory)
	number(c, &m.Stdout.Offset)
	number(c, &m.Stdout.Omitted)
	number(c, &m.Stderr.Offset)
	number(c, &m.Stderr.Omitted)
	c.strings(&m.Reached)
}

// kinds is the order in which kinds of error cross the connection; 0 is no kind.
func kinds() []error {
	return []error{
		nil, backend.ErrInvalid, backend.ErrUnsupported, backend.ErrRefused,
		backend.ErrUnavailable, backend.ErrNotFound, backend.ErrBusy,
	}
}

func (m *Failure) code(c *codec) {
	known := kinds()
	var kind int
	for i := range known {
		if known[i] != nil && errors.Is(m.Kind, known[i]) {
			kind = i
		}
	}
	number(c, &kind)
	if kind < 0 || kind >= len(known) {
		c.bad = true
		return
	}
	m.Kind = known[kind]
	c.string(&m.Text)
}

// EncodeFailure returns err as the payload of a TypeError frame.
func EncodeFailure(err error) []byte {
	const most = 4 << 10 // of a text that may hold a name or a PATH of any length
	text := err.Error()
	if len(text) > most {
		text = text[:most] + "…"
	}
	return Encode(&Failure{Kind: backend.KindOf(err), Text: text})
}

// DecodeFailure returns the error in the payload of a TypeError frame.
func DecodeFailure(payload []byte) error {
	var f Failure
	if err := Decode(payload, &f); err != nil {
		return err
	}
	if f.Kind == nil {
		return errors.New(f.Text)
	}
	return backend.Wrap(f.Kind, errors.New(f.Text))
}
