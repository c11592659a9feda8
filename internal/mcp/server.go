// Package mcp turns tool calls into requests of the engine and responses into results that a client
// and a model understand, and decides nothing about execution.
package mcp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// An Engine runs code. Its methods are called concurrently.
type Engine interface {
	// Execute runs a request. Its error means that the request could not be carried out and wraps a
	// kind of package backend, or is a bug.
	Execute(ctx context.Context, req engine.Request) (*engine.Response, error)
	// Details returns what is true of a language here; name is canonical.
	Details(ctx context.Context, name string) (lang.Details, error)
}

// Options are what a server needs.
type Options struct {
	// Version is that of this program.
	Version string
	Engine  Engine
	// Timeout bounds a call that names no bound, MaxTimeout every call.
	Timeout, MaxTimeout time.Duration
	// Network says that code can reach more than its own sandbox.
	Network bool
	// KeptBytes bounds the memory for artifacts that clients fetch through links.
	KeptBytes int64
	Log       *slog.Logger
}

// instructions tell the model what this server is for.
const instructions = `Runs complete programs in Python, JavaScript, Java, C++, Go, R and Ruby, each call in a fresh sandbox ` +
	`that is gone afterwards: nothing carries over from one call to the next. stdout, stderr, the exit code and every ` +
	`figure or file that the program makes come back. A program that fails is a normal result: read its status and message.`

// serverName is the name of the Python project llm-sandbox, for clients that are configured for it.
const serverName = "llm-sandbox"

// server is what the handlers of all tools and resources share.
type server struct {
	Options
	kept *shelf
}

// Absent are methods that this server has nothing behind, although the SDK answers them.
func Absent() []string {
	return []string{"completion/complete", "resources/subscribe", "resources/unsubscribe"}
}

// New returns an MCP server with all tools and resources.
func New(o Options) *sdk.Server {
	s := &server{Options: o, kept: newShelf(o.KeptBytes)}
	m := sdk.NewServer(
		&sdk.Implementation{Name: serverName, Title: "LLM Sandbox", Version: o.Version},
		&sdk.ServerOptions{
			Instructions: instructions,
			Logger:       slog.New(atLeast{slog.LevelWarn, o.Log.Handler()}),
			// Nothing of this changes while the server runs.
			Capabilities: &sdk.ServerCapabilities{
				Tools:     &sdk.ToolCapabilities{},
				Resources: &sdk.ResourceCapabilities{},
				Prompts:   &sdk.PromptCapabilities{},
			},
		})
	m.AddReceivingMiddleware(s.registered(m))
	return m
}

// registered adds tools and resources before the first request that can need them. That is not the
// first of a session: clients wait for its answer, and adding takes longer than it takes to answer.
func (s *server) registered(m *sdk.Server) sdk.Middleware {
	add := sync.OnceFunc(func() {
		for _, t := range s.tools() {
			m.AddTool(t.definition(), s.handler(t))
		}
		for _, r := range s.resources() {
			m.AddResource(r.definition, s.reader(r.read))
		}
		m.AddResourceTemplate(artifactTemplate(), s.reader(s.readArtifact))
	})
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method != "initialize" && method != "server/discover" {
				add()
			}
			return next(ctx, method, req)
		}
	}
}

// atLeast drops what is less severe than level: the SDK reports every session it opens.
type atLeast struct {
	level slog.Level
	slog.Handler
}

// Enabled implements [slog.Handler].
func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && h.Handler.Enabled(ctx, l)
}
