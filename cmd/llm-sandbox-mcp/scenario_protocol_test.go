package main_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// The tests of the scenario files are failure cases that take more than one call. Each is named by the
// id it has among the others in testdata/cases, and by what must not go wrong.

// PrefectHQ/fastmcp#883, invergent-ai/surogate#142: arguments is a JSON string instead of an object.
func TestARG06ArgumentsAsString(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	r, err := s.Call("execute_code", `{"code":"print(1)"}`, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	// Taking the object out of the string is as right as refusing it.
	if !r.Failed() && r.Stdout != "1\n" {
		t.Errorf("got %+v", r)
	}
	printsOne(t, s)
}

// mcp-hangar/mcp-hangar#563, pydantic/mcp-run-python#30: stdout carries protocol messages only.
func TestPROTO01OnlyProtocolOnStdout(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"normal":          nil,
		"no daemon":       {"BACKEND=docker", "DOCKER_HOST=unix:///nonexistent/docker.sock"},
		"unknown backend": {"BACKEND=foo"},
		"bad setting":     {"SANDBOX_READ_ONLY=maybe"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, env...)
			for range 3 {
				if _, err := s.Call("execute_code", map[string]any{"code": "print('x')"}, 30*time.Second); err != nil {
					t.Error(err)
				}
			}
			if err := s.CloseInput(); err != nil {
				t.Error(err)
			}
			if err := s.WaitExit(5 * time.Second); err != nil {
				t.Error(err)
			}
			if strays := s.Strays(); len(strays) > 0 {
				t.Errorf("on stdout: %q", strays)
			}
			for _, m := range s.Others() {
				if m.Method == "" {
					t.Errorf("an answer that nobody asked for: %+v", m)
				}
			}
		})
	}
}

// mark3labs/mcp-go#211, suekou/mcp-notion-server#46: methods that clients probe.
func TestPROTO02OptionalMethods(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, probe := range []struct {
		method string
		params any
	}{
		{"resources/list", nil},
		{"resources/templates/list", nil},
		{"prompts/list", nil},
		{"logging/setLevel", map[string]any{"level": "info"}},
		{"completion/complete", map[string]any{
			"ref":      map[string]any{"type": "ref/prompt", "name": "none"},
			"argument": map[string]any{"name": "a", "value": "b"},
		}},
		{"invented/method", nil},
		{"ping", nil},
	} {
		r, err := s.Send(probe.method, probe.params)
		if err != nil {
			t.Fatalf("%s: %v", probe.method, err)
		}
		m, err := r.Wait(time.Second)
		if err != nil {
			t.Errorf("%s: %v", probe.method, err)
			continue
		}
		if m.Error != nil && m.Error.Code != -32601 {
			t.Errorf("%s: error %+v", probe.method, m.Error)
		}
		if probe.method == "ping" && string(m.Result) != "{}" {
			t.Errorf("ping: got %s", m.Result)
		}
		if probe.method == "invented/method" && m.Error == nil {
			t.Errorf("invented/method: got %s", m.Result)
		}
	}
}

func TestPROTO03LanguagesResource(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	var listed struct {
		Resources []struct {
			URI string `json:"uri"`
		} `json:"resources"`
	}
	ask(t, s, "resources/list", nil, &listed)
	if !slices.ContainsFunc(listed.Resources, func(r struct {
		URI string `json:"uri"`
	}) bool {
		return r.URI == "sandbox://languages"
	}) {
		t.Errorf("listed: %+v", listed)
	}
	var read struct {
		Contents []struct {
			Text string `json:"text"`
		} `json:"contents"`
	}
	ask(t, s, "resources/read", map[string]any{"uri": "sandbox://languages"}, &read)
	var languages map[string]any
	if len(read.Contents) != 1 || json.Unmarshal([]byte(read.Contents[0].Text), &languages) != nil {
		t.Fatalf("read: %+v", read)
	}
	for _, name := range []string{"python", "javascript", "java", "cpp", "go", "r", "ruby"} {
		if _, ok := languages[name]; !ok {
			t.Errorf("%s is not among the keys", name)
		}
	}
}

// ask sends a request and decodes its result.
func ask(t *testing.T, s *mcptest.Server, method string, params, result any) {
	t.Helper()
	r, err := s.Send(method, params)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	m, err := r.Wait(5 * time.Second)
	if err != nil || m.Error != nil {
		t.Fatalf("%s: %v, %+v", method, err, m.Error)
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		t.Fatalf("%s: %v in %s", method, err, m.Result)
	}
}

// omnigent-ai/omnigent#2812, alphaonedev/ai-memory-mcp#2609: a long call holds up the others.
func TestPROTO04OtherCallsDuringALongOne(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	long, err := s.SendCall("execute_code", map[string]any{"code": "import time; time.sleep(8)"})
	if err != nil {
		t.Fatal(err)
	}
	if !eventually(10*time.Second, func() bool { return len(descendants(s.PID())) > 0 }) {
		t.Fatal("the long call does not run")
	}
	began := time.Now()
	r, err := s.Send("ping", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(time.Second); err != nil {
		t.Errorf("ping: %v", err)
	}
	if _, err := s.Call("get_supported_languages", map[string]any{}, time.Second); err != nil {
		t.Errorf("get_supported_languages: %v", err)
	}
	if d := time.Since(began); d > 200*time.Millisecond {
		t.Errorf("both took %v", d)
	}
	printsOne(t, s)
	if _, err := long.Wait(0); err == nil {
		t.Error("the long call ended first")
	}
	if r, err := long.Result(30 * time.Second); err != nil || r.ExitCode != 0 {
		t.Errorf("the long call: %+v, %v", r, err)
	}
}

// mcp-hangar/mcp-hangar#563, topcheer/ggcode#2490: malformed lines between valid ones.
func TestPROTO06MalformedLines(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, line := range [][]byte{
		nil, []byte("{"), []byte("[]"), []byte("nonsense"), bytes.Repeat([]byte(" "), 5<<20),
		[]byte(`{"jsonrpc":"2.0","id":900}`), []byte(`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`),
		[]byte(`{"jsonrpc":"1.0","id":901,"method":"ping"}`), []byte("\x00\xff\xfe"), []byte(`"text"`), []byte(`null`),
		[]byte(strings.Repeat("[", 100_000)),
	} {
		if err := s.WriteLine(line); err != nil {
			t.Fatalf("write %.20q: %v", line, err)
		}
		r, err := s.Send("ping", nil)
		if err != nil {
			t.Fatalf("after %.20q: %v", line, err)
		}
		if m, err := r.Wait(5 * time.Second); err != nil || string(m.Result) != "{}" {
			t.Fatalf("ping after %.20q: %+v, %v", line, m, err)
		}
	}
	for _, m := range s.Others() {
		if m.Error == nil || m.Error.Code != -32700 && m.Error.Code != -32600 {
			t.Errorf("got %s, error %+v", m.ID, m.Error)
		}
	}
	printsOne(t, s)
}

func TestPROTO08ToolsList(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	var listed struct {
		Tools []struct {
			Name, Description string
			InputSchema       struct {
				Required   []string
				Properties map[string]json.RawMessage
			}
		}
	}
	ask(t, s, "tools/list", nil, &listed)
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" {
			t.Errorf("%s has no description", tool.Name)
		}
		if tool.Name != "execute_code" {
			continue
		}
		if diff := cmp.Diff([]string{"code"}, tool.InputSchema.Required); diff != "" {
			t.Errorf("required (-want +got):\n%s", diff)
		}
		for property, parts := range map[string][]string{
			"code": {`"string"`}, "language": {`"string"`, `"python"`}, "libraries": {`"array"`, `"string"`}, "timeout": {`30`},
		} {
			for _, part := range parts {
				if !strings.Contains(string(tool.InputSchema.Properties[property]), part) {
					t.Errorf("schema of %s lacks %s: %s", property, part, tool.InputSchema.Properties[property])
				}
			}
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"execute_code", "get_language_details", "get_supported_languages"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestPROTO09ShapeOfTheResult(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	needsMatplotlib(t, s)
	r := execute(t, s, "python", caseCode(t, "PLOT-01"), 2*time.Minute)
	if diff := cmp.Diff([]string{"image", "text"}, r.Blocks); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	for key, want := range map[string]any{"exit_code": float64(0), "stdout": r.Stdout, "stderr": r.Stderr} {
		if r.Fields[key] != want {
			t.Errorf("%s is %v", key, r.Fields[key])
		}
	}
	if bytes.Contains(r.Raw.Result, []byte(`\n"`)) || len(r.Images) != 1 || r.Images[0].MIME != "image/png" {
		t.Errorf("image: %d of them", len(r.Images))
	}
	keys := []string{`"exit_code"`, `"stderr"`, `"stdout"`}
	for i, key := range keys[1:] {
		if strings.Index(r.Text, keys[i]) > strings.Index(r.Text, key) {
			t.Errorf("the keys do not begin with %v: %.200s", keys, r.Text)
		}
	}
}

// needsMatplotlib skips a test where the sandbox's Python has no matplotlib.
func needsMatplotlib(t *testing.T, s *mcptest.Server) {
	t.Helper()
	if r := execute(t, s, "python", "import matplotlib", 2*time.Minute); r.ExitCode != 0 {
		missing(t, "python:matplotlib", "needs matplotlib: %s", r.Stderr)
	}
}
