package supervisor_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/agent/supervisor"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// TestCounters reads trees as engines show them.
func TestCounters(t *testing.T) {
	t.Parallel()
	v1 := map[string]string{
		"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "memory.max_usage_in_bytes": "4096\n",
		"pids.events": "max 2\n", "cpuacct.usage": "1500\n",
	}
	v2 := map[string]string{
		"memory.events": "low 0\nmax 9\noom 1\noom_kill 3\n", "memory.peak": "4096\n",
		"pids.events": "max 2\n", "cpu.stat": "usage_usec 1500\nuser_usec 1000\n",
	}
	const listV1 = "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n2:pids:/docker/x\n1:name=systemd:/docker/x\n0::/docker/x\n"
	all := backend.Counters{OOMKills: 3, ProcessHits: 2, CPU: 1500, PeakMemory: 4096}
	allV2 := all
	allV2.CPU = 1500 * time.Microsecond
	for name, test := range map[string]struct {
		dirs  []string // below the root, each with files
		files map[string]string
		list  string
		want  backend.Counters
	}{
		"v1, the group at the root":    {[]string{"memory", "pids", "cpuacct"}, v1, listV1, all},
		"v1, the groups of all":        {[]string{"memory/docker/x", "pids/docker/x", "cpuacct/docker/x"}, v1, listV1, all},
		"v1, no controller for memory": {[]string{"pids"}, v1, "2:pids:/y\n", backend.Counters{ProcessHits: 2}},
		"v2, a namespace of its own":   {[]string{"."}, v2, "0::/\n", allV2},
		"v2, the host's namespace":     {[]string{"system.slice/x"}, v2, "0::/system.slice/x\n", allV2},
		"nothing is mounted":           {nil, nil, listV1, backend.Counters{}},
		"nothing is known":             {[]string{"memory"}, v1, "", backend.Counters{}},
		"nonsense":                     {[]string{"."}, map[string]string{"memory.events": "oom_kill many\n"}, "0::/\nx\n1:2\n", backend.Counters{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for _, dir := range test.dirs {
				for file, text := range test.files {
					path := filepath.Join(root, dir, file)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			if test.files["memory.events"] != "" {
				if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := supervisor.Counted(root, test.list); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
