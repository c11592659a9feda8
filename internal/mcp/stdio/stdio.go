// Package stdio carries MCP over a pair of pipes and keeps its promises where pipes are awkward: piped
// input, bad and endless lines, cancelled requests, and everyone else who likes to print.
package stdio

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of a [Transport].
type Options struct {
	// MaxMessage is the longest line accepted, in bytes. A longer one is answered with an error and
	// skipped without being kept in memory.
	MaxMessage int64
	// Grace is how long requests that were read may go on after the end of the input. Then reading
	// ends, which cancels them.
	Grace time.Duration
	// Absent are methods to be answered with "method not found" at once, for those that the SDK
	// answers although the server has nothing behind them.
	Absent []string
	Log    *slog.Logger
}

// A Transport serves one client that sends one JSON-RPC message a line.
//
// It stands in for [mcp.IOTransport], which ends the connection at the first line that it cannot read,
// drops the answers to piped input and answers cancelled requests.
type Transport struct {
	in      io.Reader
	out     io.Writer
	options Options

	end   sync.Once
	ended chan struct{}
}

// New returns a transport that reads from in and writes to out. A Read of in that blocks for ever
// keeps one goroutine.
func New(in io.Reader, out io.Writer, o Options) *Transport {
	return &Transport{in: in, out: out, options: o, ended: make(chan struct{})}
}

// Connect implements [mcp.Transport]. When ctx ends, reading ends and running requests are cancelled.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	c := &conn{
		transport: t,
		lines:     make(chan line),
		stopped:   make(chan struct{}),
		calls:     make(map[callID]*call),
	}
	context.AfterFunc(ctx, c.stop)
	go c.pump(newLineReader(t.in, t.options.MaxMessage))
	return c, nil
}

// Ended is closed when no further request will be read: the input has ended and its requests were
// answered or have used up the grace, the output is broken, or the context of Connect has ended.
func (t *Transport) Ended() <-chan struct{} { return t.ended }
