package command_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/command"
)

// TestOptionsCrossTheCommandLine: the agent reads what a driver has written.
func TestOptionsCrossTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]command.Options{
		"least": {WorkDir: "/sandbox"},
		"most":  {WorkDir: "/a b", Filter: true, Privileged: true, OpenFiles: 64, FileSize: 1 << 40, Disk: []string{"/tmp", "/dev/shm"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := command.Parse(want.Args())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("options changed on the way (-written +read):\n%s", diff)
			}
		})
	}
}

func TestWithoutServing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args   []string
		status int
		stdout string
	}{
		"version":        {[]string{"-version"}, 0, "1\n"},
		"unknown option": {[]string{"-bogus"}, 2, ""},
		"no number":      {[]string{"-open-files", "many"}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if status := command.Main(test.args, &stdout, &stderr); status != test.status || stdout.String() != test.stdout {
				t.Errorf("status %d, stdout %q, stderr %q", status, &stdout, &stderr)
			}
		})
	}
}
