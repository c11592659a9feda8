package cgroup_test

import (
	"os/exec"
	"testing"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// BenchmarkGroup makes a group with limits, reads its counters as for one run, and removes it.
func BenchmarkGroup(b *testing.B) {
	tree, _, _ := open(b)
	for b.Loop() {
		g, err := tree.New("one", backend.Limits{Memory: 1 << 30, MilliCPUs: 1000, Processes: 100})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := g.Events(); err != nil {
			b.Fatal(err)
		}
		if _, _, err := g.Usage(); err != nil {
			b.Fatal(err)
		}
		if err := g.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart starts a process that does nothing in a group, and outside for comparison.
func BenchmarkStart(b *testing.B) {
	tree, _, _ := open(b)
	g := group(b, tree, backend.Limits{})
	b.Run("inside", func(b *testing.B) {
		for b.Loop() {
			cmd, err := start(g, "/bin/true")
			if err != nil {
				b.Fatal(err)
			}
			_ = cmd.Wait()
		}
	})
	b.Run("outside", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
