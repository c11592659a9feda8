package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/artifact"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/engine"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp"
)

// hello is the response to a program that printed one line.
func hello() engine.Response {
	return engine.Response{
		Status: "ok", Step: "run", Stdout: "hi\n", Language: "python", Backend: "native", Isolation: "namespace",
		Usage: backend.Usage{Wall: 23456 * time.Microsecond, CPU: 20 * time.Millisecond, PeakMemory: 9 << 20},
	}
}

// timedOut is a response with all that can be said.
func timedOut() engine.Response {
	r := hello()
	r.Status, r.ExitCode, r.Signal, r.Step = "timeout", 124, 9, "compile"
	r.Message = "The program timed out after 30 s; the argument timeout allows up to 600 s."
	r.Stdout = "<b>&amp; é 😀 \u2028 \x00\x7f\t\u0600 [… 12 bytes omitted …]"
	r.Stderr = "warning: \"x\"\\\n"
	r.StdoutOmitted, r.StderrOmitted = 12, 3
	r.Unenforced = []string{"memory", "cpu"}
	r.Usage.PeakMemory = 0
	r.Artifacts = artifact.Set{
		Artifacts: []artifact.Artifact{
			{Name: "t.csv", MIME: "text/csv", Data: []byte("a,b\n1,2\n"), Size: 8},
			{Name: "figure-1.png", MIME: "image/png", Data: []byte("PNG"), Width: 640, Height: 480, Size: 3},
			{Name: "big.png", MIME: "image/png", Data: []byte("small"), Original: []byte("original"), Width: 2000, Height: 10, Size: 8},
			{Name: "v.svg", MIME: "image/svg+xml", Data: []byte("<svg/>"), Size: 6},
			{Name: "d.pdf", MIME: "application/pdf", Data: []byte("%PDF-1.7"), Size: 8},
			{Name: "Bericht für 50 %.html", MIME: "text/html", Data: []byte("<p>"), Size: 3, Link: true},
			{Name: "latin.csv", MIME: "text/csv", Data: []byte("\xe9"), Size: 1},
			{Name: "empty.csv", MIME: "text/csv", Data: []byte{}},
			{Name: "old.bmp", MIME: "image/bmp", Data: []byte("BM"), Width: 1, Height: 1, Size: 2},
		},
		Omitted: []artifact.Omission{
			{Name: "huge.png", Count: 1, Reason: "larger than 20 MiB"},
			{Count: 7, Reason: "more than 50 files"},
		},
	}
	return r
}

func TestRender(t *testing.T) {
	t.Parallel()
	failed := hello()
	failed.Status, failed.ExitCode, failed.Stdout, failed.Stderr = "error", 1, "", "Traceback\n"
	for name, r := range map[string]engine.Response{"hello": hello(), "failed": failed, "everything": timedOut()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := connect(t, responding(r, nil), nil)
			result := call(t, session, "execute_code", `{"code":"","foo":1}`)
			validate(t, session, "execute_code", result)
			got := text(t, result)
			if result.IsError {
				t.Errorf("isError: %s", got)
			}
			for _, c := range got {
				if c > '~' || c < ' ' && c != '\n' {
					t.Errorf("text holds %q", c)
				}
			}
			var fromText any
			if err := json.Unmarshal([]byte(got), &fromText); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(result.StructuredContent, fromText); diff != "" {
				t.Errorf("structured content and text (-structured +text):\n%s", diff)
			}
			// The ids of links are random.
			whole, err := json.Marshal(result.Content[:len(result.Content)-1])
			if err != nil {
				t.Fatal(err)
			}
			var blocks any
			if err := json.Unmarshal([]byte(withoutIDs(string(whole))), &blocks); err != nil {
				t.Fatal(err)
			}
			golden(t, "result-"+name+".json", map[string]any{"blocks": blocks, "text": strings.Split(withoutIDs(got), "\n")})
		})
	}
}

// withoutIDs replaces the ids of artifact links.
func withoutIDs(s string) string {
	const prefix = "sandbox://artifacts/"
	parts := strings.Split(s, prefix)
	for i, part := range parts[1:] {
		_, name, _ := strings.Cut(part, "/")
		parts[i+1] = "ID/" + name
	}
	return strings.Join(parts, prefix)
}

// TestTextIsThatOfThePythonProject compares with what wrote the text there.
func TestTextIsThatOfThePythonProject(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	r := hello()
	r.Stdout = "\x00\x01\b\f\n\r\t\x1b\"\\/<>& \x7f\u0080é\u2028\u2029\ufffd😀"
	got := text(t, call(t, connect(t, responding(r, nil), nil), "execute_code", `{"code":""}`))
	cmd := exec.CommandContext(t.Context(), python, "-c",
		"import json,sys; print(json.dumps(json.load(sys.stdin), indent=2), end='')")
	cmd.Stdin = strings.NewReader(got)
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-python +got):\n%s", diff)
	}
}

// read reads a resource.
func read(t *testing.T, session *sdk.ClientSession, uri string) (*sdk.ResourceContents, error) {
	t.Helper()
	result, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	if len(result.Contents) != 1 || result.Contents[0].URI != uri {
		t.Errorf("%s: %+v", uri, result.Contents)
	}
	return result.Contents[0], nil
}

// links returns the URIs in a result by name.
func links(t *testing.T, result *sdk.CallToolResult) map[string]string {
	t.Helper()
	var r struct {
		Artifacts []struct{ Name, URI string }
	}
	if err := json.Unmarshal([]byte(text(t, result)), &r); err != nil {
		t.Fatal(err)
	}
	uris := map[string]string{}
	for _, a := range r.Artifacts {
		if a.URI != "" {
			uris[a.Name] = a.URI
		}
	}
	return uris
}

func TestLinksCanBeRead(t *testing.T) {
	t.Parallel()
	session := connect(t, responding(timedOut(), nil), nil)
	uris := links(t, call(t, session, "execute_code", `{"code":""}`))
	type contents struct{ MIME, Text, Blob string }
	want := map[string]contents{
		"t.csv":                 {MIME: "text/csv", Text: "a,b\n1,2\n"},
		"big.png":               {MIME: "image/png", Blob: "original"},
		"v.svg":                 {MIME: "image/svg+xml", Text: "<svg/>"},
		"d.pdf":                 {MIME: "application/pdf", Blob: "%PDF-1.7"},
		"Bericht für 50 %.html": {MIME: "text/html", Text: "<p>"},
		"latin.csv":             {MIME: "text/csv", Blob: "\xe9"},
		"empty.csv":             {MIME: "text/csv"},
		"old.bmp":               {MIME: "image/bmp", Blob: "BM"},
	}
	got := map[string]contents{}
	for name, uri := range uris {
		if u, err := url.Parse(uri); err != nil || strings.ContainsAny(u.EscapedPath(), " ü") {
			t.Errorf("%s: not a URI: %v", uri, err)
		}
		c, err := read(t, session, uri)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		got[name] = contents{c.MIMEType, c.Text, string(c.Blob)}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, uri := range []string{"sandbox://artifacts/x/y", uris["t.csv"] + "x", "sandbox://artifacts/", "sandbox://other"} {
		_, err := read(t, session, uri)
		var wire *jsonrpc.Error
		if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams || !strings.Contains(strings.ToLower(wire.Message), "not found") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// TestOldLinksExpire fills the memory for links.
func TestOldLinksExpire(t *testing.T) {
	t.Parallel()
	r := hello()
	for i := range 4 {
		r.Artifacts.Artifacts = append(r.Artifacts.Artifacts,
			artifact.Artifact{Name: fmt.Sprint(i), MIME: "application/pdf", Data: make([]byte, 400), Size: 400, Link: true})
	}
	session := connectWith(t, mcp.Options{Engine: responding(r, nil), KeptBytes: 1000}, nil)
	uris := links(t, call(t, session, "execute_code", `{"code":""}`))
	for name, kept := range map[string]bool{"0": false, "1": false, "2": true, "3": true} {
		_, err := read(t, session, uris[name])
		if (err == nil) != kept {
			t.Errorf("%s: kept = %v, want %v: %v", name, err == nil, kept, err)
		}
		if err != nil && !strings.Contains(err.Error(), "run the code again") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Files without a byte are bounded too.
	r.Artifacts.Artifacts = nil
	for range 600 {
		r.Artifacts.Artifacts = append(r.Artifacts.Artifacts, artifact.Artifact{Name: "e", MIME: "text/csv", Link: true})
	}
	session = connectWith(t, mcp.Options{Engine: responding(r, nil), KeptBytes: 1000}, nil)
	result := call(t, session, "execute_code", `{"code":""}`)
	found := 0
	for _, block := range result.Content[:600] {
		if _, err := read(t, session, block.(*sdk.ResourceLink).URI); err == nil {
			found++
		}
	}
	if found != 512 {
		t.Errorf("%d of 600 links can be read, want 512", found)
	}
}
