package mcp

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"runtime/debug"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// schemas holds NAME.input.json and NAME.output.json for each tool. They are written by hand: the
// server starts faster than with schemas made by reflection, and what clients see is plain to read.
//
//go:embed schema
var schemas embed.FS

// A tool is one row of the table of tools.
//
// To add one: its two schemas, a row in [server.tools] and its handler; then run the tests with
// -update and read what changed.
type tool struct {
	name, title, description string
	// readOnly says that a call changes nothing; openWorld that it may reach beyond this machine.
	readOnly, openWorld bool
	// input changes the input schema to what the settings say; nil leaves it as it is.
	input func(json.RawMessage) json.RawMessage
	// call handles a call. Its error is turned into a result by [errorText].
	call func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)
}

func (s *server) tools() []tool {
	return []tool{
		{
			name:  "execute_code",
			title: "Run code in a sandbox",
			description: "Runs a complete program in a fresh, isolated sandbox and returns its stdout, stderr and exit code, " +
				"with every figure shown and every picture, SVG, PDF, HTML or CSV file saved. Languages: python, javascript, " +
				"java, cpp, go, r, ruby.\n\nThe result ends in one JSON text with exit_code, stderr, stdout and status; " +
				"images come before it. Sandboxes do not share state.",
			openWorld: s.Network,
			input:     s.withDefaultTimeout,
			call:      s.executeCode,
		},
		{
			name:        "get_language_details",
			title:       "Describe a language",
			description: "Returns version, package manager, installed libraries, use cases and example programs of one language.",
			readOnly:    true,
			call:        s.languageDetails,
		},
		{
			name:        "get_supported_languages",
			title:       "List languages",
			description: "Returns the names of the languages that execute_code runs.",
			readOnly:    true,
			call:        s.supportedLanguages,
		},
	}
}

// definition is what tools/list shows. No tool destroys anything: code can only change its sandbox.
func (t tool) definition() *sdk.Tool {
	destructive := false
	input := schema(t.name + ".input")
	if t.input != nil {
		input = t.input(input)
	}
	return &sdk.Tool{
		Name:         t.name,
		Title:        t.title,
		Description:  t.description,
		InputSchema:  input,
		OutputSchema: schema(t.name + ".output"),
		Annotations: &sdk.ToolAnnotations{
			Title:           t.title,
			ReadOnlyHint:    t.readOnly,
			DestructiveHint: &destructive,
			IdempotentHint:  t.readOnly,
			OpenWorldHint:   &t.openWorld,
		},
	}
}

func schema(name string) json.RawMessage {
	text, err := schemas.ReadFile("schema/" + name + ".json")
	if err != nil {
		panic(fmt.Sprintf("mcp: %v", err)) // the files are part of the binary
	}
	return text
}

// handler puts a tool's errors and panics into results that a model can read.
func (s *server) handler(t tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (result *sdk.CallToolResult, _ error) {
		defer func() {
			if p := recover(); p != nil {
				result = failure(s.errorText(panicked(p)))
			}
		}()
		result, err := t.call(ctx, req)
		switch {
		case err == nil:
			return result, nil
		case ctx.Err() != nil:
			err = ctx.Err() // and not what came of it
		}
		return failure(s.errorText(err)), nil
	}
}

// panicked makes an error of what recover returned, with the stack.
func panicked(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }

// failure is the result of a call that was not carried out.
func failure(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}
