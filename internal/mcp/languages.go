package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// supportedLanguages is the tool get_supported_languages.
func (s *server) supportedLanguages(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	names := lang.Builtin().Names()
	return &sdk.CallToolResult{
		Content: []sdk.Content{&sdk.TextContent{Text: string(encodeASCII(names))}},
		StructuredContent: struct {
			Languages []string `json:"languages"`
		}{names},
	}, nil
}

// languageDetails is the tool get_language_details.
func (s *server) languageDetails(ctx context.Context, call *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	name, err := decodeLanguage(call.Params.Arguments)
	if err != nil {
		return nil, err
	}
	l, err := lang.Builtin().Lookup(name)
	if err != nil {
		// The text is what clients of the Python project expect, to the letter.
		return failure(`{"error": ` + string(encodeASCII("Unsupported language: "+cut(name, 100))) + `}`), nil //nolint:nilerr // the result says it
	}
	text := encodeASCII(s.details(ctx, l))
	return &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: string(text)}},
		StructuredContent: json.RawMessage(text),
	}, nil
}

// detailsTimeout is how long a client waits for a look at what is installed. Then the description has
// to do; the engine looks on, and the next to ask gets what it found.
const detailsTimeout = 3 * time.Second

// details returns what is true of a language here, or what its description says if that cannot be
// found out.
func (s *server) details(ctx context.Context, l *lang.Language) (d lang.Details) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("language details: taken from the description", "language", l.Name, "error", panicked(p))
			d = l.Details
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, detailsTimeout)
	defer cancel()
	d, err := s.Engine.Details(ctx, l.Name)
	if err != nil {
		s.Log.Warn("language details: taken from the description", "language", l.Name, "error", err)
		return l.Details
	}
	return d
}

// resourceOrder is the order of the languages in the resource, which differs from that of the tool in
// the Python project too.
func resourceOrder() []string {
	return []string{"python", "javascript", "java", "cpp", "go", "r", "ruby"}
}

// A resource is one row of the table of resources.
type resource struct {
	definition *sdk.Resource
	read       func(ctx context.Context, uri string) (*sdk.ResourceContents, error)
}

func (s *server) resources() []resource {
	const all = "sandbox://languages"
	rows := []resource{{
		definition: &sdk.Resource{
			URI:         all,
			Name:        "language_details",
			Title:       "Languages",
			Description: "Version, package manager, installed libraries, use cases and examples of all languages.",
			MIMEType:    "text/plain", // as in the Python project; it is JSON
		},
		read: s.readLanguages,
	}}
	for _, name := range resourceOrder() {
		rows = append(rows, resource{
			definition: &sdk.Resource{
				URI:         all + "/" + name,
				Name:        "language_details_" + name,
				Title:       "Language " + name,
				Description: "Version, package manager, installed libraries, use cases and examples of " + name + ".",
				MIMEType:    "application/json",
			},
			read: func(ctx context.Context, uri string) (*sdk.ResourceContents, error) {
				l, err := lang.Builtin().Lookup(name)
				if err != nil {
					return nil, err
				}
				return &sdk.ResourceContents{URI: uri, Text: string(encodeASCII(s.details(ctx, l)))}, nil
			},
		})
	}
	return rows
}

// readLanguages returns the details of all languages as one object.
func (s *server) readLanguages(ctx context.Context, uri string) (*sdk.ResourceContents, error) {
	order := resourceOrder()
	details := make([]json.RawMessage, len(order))
	var looking sync.WaitGroup
	for i, name := range order {
		l, err := lang.Builtin().Lookup(name)
		if err != nil {
			return nil, err
		}
		looking.Go(func() { details[i] = encodeASCII(s.details(ctx, l)) })
	}
	looking.Wait()

	var object, text bytes.Buffer
	for i, name := range order {
		object.WriteString([]string{"{", ","}[min(i, 1)] + `"` + name + `":`)
		object.Write(details[i])
	}
	object.WriteString("}")
	if err := json.Indent(&text, object.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	return &sdk.ResourceContents{URI: uri, Text: text.String()}, nil
}

// reader puts the errors and panics of a resource into answers.
func (s *server) reader(read func(context.Context, string) (*sdk.ResourceContents, error)) sdk.ResourceHandler {
	return func(ctx context.Context, req *sdk.ReadResourceRequest) (result *sdk.ReadResourceResult, err error) {
		defer func() {
			if p := recover(); p != nil {
				result, err = nil, s.rpcError(panicked(p))
			}
		}()
		c, err := read(ctx, req.Params.URI)
		if err != nil {
			return nil, s.rpcError(err)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
	}
}
