package main_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// casesDir holds the failure cases; its README says what the keys mean.
const casesDir = "../../testdata/cases"

// A failureCase is one file of casesDir.
type failureCase struct {
	Tool      string            `json:"tool"`
	Arguments map[string]any    `json:"arguments"`
	Code      string            `json:"code"`
	Env       map[string]string `json:"env"`
	Needs     []string          `json:"needs"`
	Backends  []string          `json:"backends"`
	Expect    expectation       `json:"expect"`
	ExpectAny []expectation     `json:"expect_any"`

	id, title string
}

// readCase reads one case and completes the arguments of its call.
func readCase(t testing.TB, path string) failureCase {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := failureCase{Tool: "execute_code", id: strings.TrimSuffix(filepath.Base(path), ".txtar")}
	c.title, _, _ = strings.Cut(string(archive.Comment), "\n")
	for _, file := range archive.Files {
		if file.Name != "case.json" {
			c.Code = string(file.Data)
			continue
		}
		d := json.NewDecoder(strings.NewReader(string(file.Data)))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	if c.Code == "generated" {
		c.Code = generated(t, c.id)
	}
	if c.Arguments == nil {
		c.Arguments = map[string]any{}
	}
	if c.Code != "" {
		c.Arguments["code"] = c.Code
	}
	return c
}

// generated makes the code that is too large to keep.
func generated(t testing.TB, id string) string {
	t.Helper()
	if id != "TEXT-11" {
		t.Fatalf("%s: no one makes its code", id)
	}
	return fmt.Sprintf("s = '%s'\nprint(len(s))\n", strings.Repeat("a", 1_000_000))
}

// caseCode returns the code of a case, for the tests that use it in another way.
func caseCode(t testing.TB, id string) string {
	t.Helper()
	c := readCase(t, filepath.Join(casesDir, id+".txtar"))
	code, ok := c.Arguments["code"].(string)
	if !ok {
		t.Fatalf("%s has no code", id)
	}
	return code
}

// readCases reads all cases for a backend.
func readCases(t *testing.T, backend string) []failureCase {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(casesDir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases in %s: %v", casesDir, err)
	}
	var cases []failureCase
	for _, path := range paths {
		if c := readCase(t, path); c.Backends == nil || slices.Contains(c.Backends, backend) {
			cases = append(cases, c)
		}
	}
	return cases
}

// environ is the case's environment as NAME=value pairs.
func (c failureCase) environ() []string {
	var pairs []string
	for name, value := range c.Env {
		pairs = append(pairs, name+"="+value)
	}
	return pairs
}
