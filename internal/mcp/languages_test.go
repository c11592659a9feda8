package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// installed is an engine that knows the version of each language.
func installed() scripted {
	return scripted{details: func(_ context.Context, name string) (lang.Details, error) {
		if name == "ruby" {
			panic("no ruby")
		}
		if name == "r" {
			return lang.Details{}, errors.New("no R")
		}
		return lang.Details{Version: name + " 1.0 ü", PreinstalledLibraries: []string{}, UseCases: []string{"use"}, Examples: []lang.Example{}}, nil
	}}
}

func TestSupportedLanguages(t *testing.T) {
	t.Parallel()
	session := connect(t, scripted{}, nil)
	for _, arguments := range []string{`{}`, `null`, `{"x":1}`} {
		result := call(t, session, "get_supported_languages", arguments)
		validate(t, session, "get_supported_languages", result)
		want := "[\n  \"python\",\n  \"java\",\n  \"javascript\",\n  \"cpp\",\n  \"go\",\n  \"ruby\",\n  \"r\"\n]"
		if got := text(t, result); got != want {
			t.Errorf("%s: %s", arguments, got)
		}
	}
}

func TestLanguageDetails(t *testing.T) {
	t.Parallel()
	session := connect(t, installed(), nil)
	want := `{
  "version": "python 1.0 \u00fc",
  "package_manager": "",
  "preinstalled_libraries": [],
  "use_cases": [
    "use"
  ],
  "visualization_support": false,
  "examples": []
}`
	for _, name := range []string{"python", "Python", " PY "} {
		result := call(t, session, "get_language_details", `{"language":"`+name+`"}`)
		validate(t, session, "get_language_details", result)
		if diff := cmp.Diff(want, text(t, result)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range lang.Builtin().Names() {
		validate(t, session, "get_language_details", call(t, session, "get_language_details", `{"language":"`+name+`"}`))
	}
	for arguments, want := range map[string]string{
		`{"language":"cobol"}`:   `{"error": "Unsupported language: cobol"}`,
		`{"language":"\"é\n"}`:   `{"error": "Unsupported language: \"\u00e9 "}`,
		`{}`:                     "invalid request: language: missing; give a name from get_supported_languages",
		`{"language":7}`:         "invalid request: language: must be a string, not 7",
		`{"language":null}`:      "invalid request: language: must be a string, not null",
		`"{\"language\":\"q\"}"`: `{"error": "Unsupported language: q"}`,
	} {
		result := call(t, session, "get_language_details", arguments)
		if got := text(t, result); !result.IsError || got != want {
			t.Errorf("%s: isError %v, %s, want %s", arguments, result.IsError, got, want)
		}
	}
}

// TestLanguagesResource pins the order of the keys, and that a language whose details cannot be found
// out is described all the same.
func TestLanguagesResource(t *testing.T) {
	t.Parallel()
	session := connect(t, installed(), nil)
	all, err := read(t, session, "sandbox://languages")
	if err != nil {
		t.Fatal(err)
	}
	if all.MIMEType != "text/plain" {
		t.Errorf("type %s", all.MIMEType)
	}
	dec := json.NewDecoder(strings.NewReader(all.Text))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	var order []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		var details lang.Details
		if err := dec.Decode(&details); err != nil {
			t.Fatal(err)
		}
		order = append(order, name.(string))

		one, err := read(t, session, "sandbox://languages/"+name.(string))
		if err != nil {
			t.Fatal(err)
		}
		var same lang.Details
		if err := json.Unmarshal([]byte(one.Text), &same); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(details, same); diff != "" || one.MIMEType != "application/json" {
			t.Errorf("%s: %s, differs (-all +one):\n%s", name, one.MIMEType, diff)
		}
		if builtin, err := lang.Builtin().Lookup(name.(string)); err != nil {
			t.Error(err)
		} else if asBuiltin := details.Version == builtin.Details.Version; asBuiltin != slices.Contains([]string{"r", "ruby"}, builtin.Name) {
			t.Errorf("%s: version %s", name, details.Version)
		}
	}
	if diff := cmp.Diff([]string{"python", "javascript", "java", "cpp", "go", "r", "ruby"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(all.Text), "", "  "); err != nil || indented.String() != all.Text {
		t.Errorf("not indented by two spaces (%v):\n%.200s", err, all.Text)
	}
	if _, err := read(t, session, "sandbox://languages/cobol"); err == nil {
		t.Error("sandbox://languages/cobol can be read")
	}
}

// TestSlowDetails pins that a client is not kept waiting for a slow language.
func TestSlowDetails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		session := connect(t, scripted{details: func(ctx context.Context, _ string) (lang.Details, error) {
			<-ctx.Done()
			return lang.Details{}, ctx.Err()
		}}, nil)
		start := time.Now()
		if _, err := read(t, session, "sandbox://languages"); err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited != 3*time.Second {
			t.Errorf("waited %v", waited)
		}
		session.Close()
	})
}
