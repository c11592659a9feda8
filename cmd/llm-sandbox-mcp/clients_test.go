package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestClients drives the server with the clients of other people, as scripts/setup-clients.sh installs
// them: they list the tools, run code, get a picture, and cancel a call.
func TestClients(t *testing.T) {
	t.Parallel()
	type report struct {
		Server    string
		Tools     []string
		Stdout    string
		Blocks    []string
		Signature string
		Cancelled bool
		After     string
	}
	want := report{
		Server:    "llm-sandbox",
		Tools:     []string{"execute_code", "get_language_details", "get_supported_languages"},
		Stdout:    "42\n",
		Blocks:    []string{"image/png", "text"},
		Signature: "PNG",
		Cancelled: true,
		After:     "alive\n",
	}
	dir, err := filepath.Abs("../../testdata/clients")
	if err != nil {
		t.Fatal(err)
	}
	server, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []struct {
		name, program, script, needs string
	}{
		{"typescript", "node", "client.mjs", "node_modules/@modelcontextprotocol/sdk"},
		{"python", filepath.Join(dir, "venv/bin/python"), "client.py", "venv/bin/python"},
	} {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(filepath.Join(dir, client.needs)); err != nil {
				missing(t, "clients", "run scripts/setup-clients.sh: %v", err)
			}
			cmd := exec.CommandContext(t.Context(), client.program, client.script, server)
			cmd.Dir = dir
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			var got report
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what the client saw (-want +got):\n%s\n%s", diff, stderr.String())
			}
		})
	}
}

// missing skips a test, or fails it where SANDBOX_TEST_REQUIRE names what it needs.
func missing(t *testing.T, need, format string, args ...any) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("SANDBOX_TEST_REQUIRE"), ","), need) {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
