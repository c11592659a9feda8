package docker_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend/docker"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestBody shows all that an engine is told of a sandbox.
func TestBody(t *testing.T) {
	t.Parallel()
	limits := backend.Limits{
		Memory: 1 << 30, MilliCPUs: 1500, Processes: 100, Disk: 64 << 20, FileSize: 32 << 20, OpenFiles: 1024,
	}
	loose := docker.Hardening{Privileged: true, CapDrop: []string{"NET_RAW"}, SecurityOpt: []string{"seccomp=unconfined"}}
	for name, test := range map[string]struct {
		spec      backend.Spec
		hardening docker.Hardening
	}{
		"default": {backend.Spec{Image: "python:3.13-slim", Limits: limits}, hardening},
		"loose":   {backend.Spec{Image: "python:3.13-slim", WorkDir: "/work", Network: "bridge"}, loose},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := docker.Body(test.spec, test.hardening, "agents", "/data", "/tmp/")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, got) {
				t.Errorf("(-want +got):\n%s", cmp.Diff(string(want), string(got)))
			}
		})
	}
}
