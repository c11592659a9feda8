package native_test

import (
	"bytes"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// BenchmarkCreate is a sandbox in which nothing runs.
func BenchmarkCreate(b *testing.B) {
	backend := opened(b)
	for b.Loop() {
		sandbox, err := backend.Create(b.Context(), limited)
		if err != nil {
			b.Fatal(err)
		}
		if err := sandbox.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	spent(b)
}

// BenchmarkPrint is a fresh sandbox for print(1), until its output is there.
func BenchmarkPrint(b *testing.B) {
	back := opened(b)
	for b.Loop() {
		sandbox, err := back.Create(b.Context(), limited)
		if err != nil {
			b.Fatal(err)
		}
		var out bytes.Buffer
		process, err := sandbox.Start(b.Context(), backend.Command{Args: []string{python, "-c", "print(1)"}, Stdout: &out})
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := process.Wait(); err != nil || exit.Code != 0 || out.String() != "1\n" {
			b.Fatalf("got %+v, %v, output %q", exit, err, out.String())
		}
		b.StopTimer()
		if err := sandbox.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	spent(b)
}

// BenchmarkPlainPrint is what BenchmarkPrint is compared with.
func BenchmarkPlainPrint(b *testing.B) {
	for b.Loop() {
		if out, err := exec.CommandContext(b.Context(), python, "-c", "print(1)").Output(); err != nil || string(out) != "1\n" {
			b.Fatalf("got %q, %v", out, err)
		}
	}
	spent(b)
}

const python = "/usr/bin/python3"

var limited = backend.Spec{Limits: backend.Limits{
	Memory: 1 << 30, MilliCPUs: 2000, Processes: 512, Disk: 1 << 30, FileSize: 1 << 30, OpenFiles: 1024,
}}

func opened(b *testing.B) backend.Backend {
	b.Helper()
	back := open(b)
	b.Cleanup(func() {
		if err := back.Close(b.Context()); err != nil {
			b.Error(err)
		}
	})
	if err := back.Probe(b.Context()); err != nil {
		b.Skip(err)
	}
	return back
}

// spent reports the processor time of an operation, of this process and of its children: other work on
// the machine makes it less wrong than the wall time.
func spent(b *testing.B) {
	b.Helper()
	for unit, who := range map[string]int{"own-ms/op": syscall.RUSAGE_SELF, "children-ms/op": syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			b.Fatal(err)
		}
		total := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		b.ReportMetric(float64((total-before[who]).Microseconds())/1e3/float64(b.N), unit)
		before[who] = total
	}
}

var before = map[int]time.Duration{}
