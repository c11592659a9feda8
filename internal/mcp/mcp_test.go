package mcp_test

import (
	"bytes"
	defaults "cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is an engine that does what the test says.
type scripted struct {
	execute func(context.Context, engine.Request) (*engine.Response, error)
	details func(context.Context, string) (lang.Details, error)
}

func (s scripted) Execute(ctx context.Context, req engine.Request) (*engine.Response, error) {
	return s.execute(ctx, req)
}

func (s scripted) Details(ctx context.Context, name string) (lang.Details, error) {
	if s.details == nil {
		return lang.Details{}, backend.Wrap(backend.ErrUnavailable, errors.New("no backend"))
	}
	return s.details(ctx, name)
}

// responding is an engine that has only one answer.
func responding(r engine.Response, err error) scripted {
	return scripted{execute: func(context.Context, engine.Request) (*engine.Response, error) {
		if err != nil {
			return nil, err
		}
		return &r, nil
	}}
}

// connect returns a client of a server with the engine.
func connect(t *testing.T, e mcp.Engine, client *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	return connectWith(t, mcp.Options{Engine: e, KeptBytes: 1 << 20}, client)
}

func connectWith(t *testing.T, o mcp.Options, client *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	o.Version = "v1.2.3"
	o.Timeout = defaults.Or(o.Timeout, 30*time.Second)
	o.MaxTimeout = 10 * time.Minute
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ours, theirs := sdk.NewInMemoryTransports()
	server, err := mcp.New(o).Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, client).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		_ = server.Wait() // an error is that of the pipe being closed
	})
	return session
}

// call calls a tool with arguments as they stand on the wire.
func call(t *testing.T, session *sdk.ClientSession, tool, arguments string) *sdk.CallToolResult {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s(%s): %v", tool, arguments, err)
	}
	return result
}

// text returns the last block of a result, which is the only text.
func text(t *testing.T, result *sdk.CallToolResult) string {
	t.Helper()
	for i, block := range result.Content {
		c, isText := block.(*sdk.TextContent)
		if isText != (i == len(result.Content)-1) {
			t.Fatalf("block %d of %d is %T", i+1, len(result.Content), block)
		}
		if isText {
			return c.Text
		}
	}
	t.Fatal("the result is empty")
	return ""
}

// golden compares a value, as indented JSON, with a file.
func golden(t *testing.T, name string, value any) {
	t.Helper()
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s; -update rewrites it (-want +got):\n%s", file, diff)
	}
}

// TestSurface shows in a diff of testdata what a change means for clients.
func TestSurface(t *testing.T) {
	t.Parallel()
	session := connect(t, scripted{}, nil)
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := session.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	templates, err := session.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := session.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "initialize.json", session.InitializeResult())
	golden(t, "tools.json", tools.Tools)
	golden(t, "resources.json", map[string]any{"resources": resources.Resources, "resourceTemplates": templates.ResourceTemplates})
	if len(prompts.Prompts) > 0 {
		t.Errorf("prompts: %v", prompts.Prompts)
	}
	for _, tool := range tools.Tools {
		a := tool.Annotations
		if tool.Title == "" || tool.Description == "" || a == nil || a.Title == "" || a.DestructiveHint == nil || a.OpenWorldHint == nil {
			t.Errorf("tool %s lacks a title, a description or a hint", tool.Name)
		}
	}
}

// TestSettingsShow pins what clients see of the settings.
func TestSettingsShow(t *testing.T) {
	t.Parallel()
	session := connectWith(t, mcp.Options{Engine: scripted{}, Network: true, Timeout: 90 * time.Second}, nil)
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if got, want := *tool.Annotations.OpenWorldHint, tool.Name == "execute_code"; got != want {
			t.Errorf("%s: openWorldHint = %v, want %v", tool.Name, got, want)
		}
		input, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := bytes.Contains(input, []byte(`"default":90`)), tool.Name == "execute_code"; got != want {
			t.Errorf("%s: the schema has a default of 90: %v, want %v", tool.Name, got, want)
		}
	}
}

// validate checks structured content against the tool's own output schema.
func validate(t *testing.T, session *sdk.ClientSession, tool string, result *sdk.CallToolResult) {
	t.Helper()
	for listed, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if listed.Name != tool {
			continue
		}
		raw, err := json.Marshal(listed.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(result.StructuredContent); err != nil {
			t.Errorf("structured content of %s: %v", tool, err)
		}
		return
	}
	t.Fatalf("no tool %s", tool)
}

// TestSchemasArePortable pins what clients of all makers take: see the keywords that some refuse.
func TestSchemasArePortable(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("schema/*.json")
	if err != nil || len(files) != 6 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(data, &schema); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if _, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if schema.Type != "object" {
			t.Errorf("%s: type is %q", file, schema.Type)
		}
		for _, keyword := range []string{"$ref", "$defs", "oneOf", "allOf", `"not"`, "patternProperties", `"if"`} {
			if bytes.Contains(data, []byte(keyword)) {
				t.Errorf("%s uses %s, which some clients refuse", file, keyword)
			}
		}
	}
}

// TestErrors calls with every kind of error there is, and fails when package backend gets a new one.
func TestErrors(t *testing.T) {
	t.Parallel()
	kinds := map[string]error{
		"ErrInvalid":     backend.ErrInvalid,
		"ErrUnsupported": backend.ErrUnsupported,
		"ErrRefused":     backend.ErrRefused,
		"ErrUnavailable": backend.ErrUnavailable,
		"ErrNotFound":    backend.ErrNotFound,
		"ErrBusy":        backend.ErrBusy,
	}
	if diff := cmp.Diff(errorNames(t), slices.Sorted(maps.Keys(kinds))); diff != "" {
		t.Errorf("kinds of package backend and of this test (-backend +test):\n%s", diff)
	}
	for name, kind := range kinds {
		err := fmt.Errorf("calling: %w", backend.Wrap(kind, errors.New("native: mount /proc: start the daemon")))
		result := call(t, connect(t, responding(engine.Response{}, err), nil), "execute_code", `{"code":""}`)
		got := text(t, result)
		if !result.IsError || !strings.HasSuffix(got, ": calling: native: mount /proc: start the daemon") || strings.Contains(got, "internal") {
			t.Errorf("%s: isError %v, %q", name, result.IsError, got)
		}
		if result.StructuredContent != nil {
			t.Errorf("%s: structured content %v", name, result.StructuredContent)
		}
	}
}

// errorNames returns the names of the kinds that package backend declares.
func errorNames(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../backend/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, decl := range file.Decls {
		vars, ok := decl.(*ast.GenDecl)
		if !ok || vars.Tok != token.VAR {
			continue
		}
		for _, spec := range vars.Specs {
			names = append(names, spec.(*ast.ValueSpec).Names[0].Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestInternalErrorsStayInTheLog pins that a client learns nothing of a bug but where to look for it.
func TestInternalErrorsStayInTheLog(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]scripted{
		"error": responding(engine.Response{}, errors.New("password is hunter2")),
		"panic": {execute: func(context.Context, engine.Request) (*engine.Response, error) { panic("password is hunter2") }},
	} {
		var log bytes.Buffer
		session := connectWith(t, mcp.Options{Engine: e, Log: slog.New(slog.NewTextHandler(&log, nil))}, nil)
		result := call(t, session, "execute_code", `{"code":""}`)
		got := text(t, result)
		if !result.IsError || !strings.HasPrefix(got, "internal error") || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %q", name, got)
		}
		id := got[strings.Index(got, "details as ")+len("details as "):][:8]
		if !strings.Contains(log.String(), id) || !strings.Contains(log.String(), "hunter2") {
			t.Errorf("%s: log has not both %q and the cause: %s", name, id, log.String())
		}
		if hasStack := strings.Contains(log.String(), "mcp_test.go"); hasStack != (name == "panic") {
			t.Errorf("%s: stack in the log: %v", name, hasStack)
		}
	}
}

// TestCancel cancels a call and sees its context end.
func TestCancel(t *testing.T) {
	t.Parallel()
	started, ended := make(chan struct{}), make(chan struct{})
	session := connect(t, scripted{execute: func(ctx context.Context, _ engine.Request) (*engine.Response, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "x"}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("CallTool: %v", err)
	}
	<-ended
}

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		last := 0.0
		client := &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, req.Params.Message)
			if req.Params.Progress <= last {
				t.Errorf("progress %v after %v", req.Params.Progress, last)
			}
			last = req.Params.Progress
		}}
		session := connect(t, scripted{execute: func(_ context.Context, req engine.Request) (*engine.Response, error) {
			pause := func(d time.Duration) { <-time.After(d) }
			req.Progress(engine.Event{Message: "waiting for a free slot (3 before you)"})
			pause(time.Second)
			for i := range 100 {
				req.Progress(engine.Event{Message: fmt.Sprintf("line %d\x1b[1m", i)})
				pause(7 * time.Millisecond)
			}
			pause(25 * time.Second)
			return &engine.Response{}, nil
		}}, client)
		params := &sdk.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "x"}}
		params.SetProgressToken("token")
		if _, err := session.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []string{
			"waiting for a free slot (3 before you)",
			"line 0 [1m", "line 28 [1m", "line 57 [1m", "line 85 [1m", "line 99 [1m",
			"still at work after 11 s", "still at work after 21 s",
		}
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		session.Close()
	})
}

func TestNoProgressUnasked(t *testing.T) {
	t.Parallel()
	session := connect(t, scripted{execute: func(_ context.Context, req engine.Request) (*engine.Response, error) {
		if req.Progress != nil {
			t.Error("the engine was given a function for progress")
		}
		return &engine.Response{}, nil
	}}, nil)
	call(t, session, "execute_code", `{"code":""}`)
}
