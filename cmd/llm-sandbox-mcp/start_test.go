package main_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkStart measures, in turns, the time from exec to the answer to initialize, and the whole run
// of a Go program that does nothing. x-empty is the ratio of the medians; docs/startup.md says what it
// may be.
func BenchmarkStart(b *testing.B) {
	server, err := binary()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	empty := filepath.Join(dir, "empty")
	source := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	build := exec.CommandContext(b.Context(), "go", "build", "-o", empty, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	var answers, runs []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := exec.CommandContext(b.Context(), empty).Run(); err != nil {
			b.Fatal(err)
		}
		runs = append(runs, time.Since(start))
		answers = append(answers, initialized(b, server))
	}
	answer, run := median(answers), median(runs)
	b.ReportMetric(answer.Seconds()*1000, "ms/start")
	b.ReportMetric(run.Seconds()*1000, "ms/empty")
	b.ReportMetric(float64(answer)/float64(run), "x-empty")
}

// initialized returns the time until the server has answered initialize.
func initialized(b *testing.B, server string) time.Duration {
	b.Helper()
	const request = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	cmd := exec.CommandContext(b.Context(), server)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if _, err := in.Write([]byte(request)); err != nil {
		b.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadSlice('}'); err != nil {
		b.Fatal(err)
	}
	took := time.Since(start)
	if err := in.Close(); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return took
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
