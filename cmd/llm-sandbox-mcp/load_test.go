//go:build linux

package main_test

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// picture writes a PNG of the size of its argument without any library, and says its number.
const picture = `
import struct, zlib
k = %d
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\0" + b"\x40" * (k + 1) for _ in range(3))
open("plot-%%d.png" %% k, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", k + 1, 3, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
print("job", k)
`

// TestLoad makes 200 calls, 16 at a time: none is lost, none mixed up, and the server goes back to what
// it was.
func TestLoad(t *testing.T) {
	const calls, width = 200, 16
	s := startServer(t)
	load(t, s, width, width) // what the server allocates once is there from now on
	before := sizeOf(t, s.PID())
	began := time.Now()
	load(t, s, calls, width)
	took := time.Since(began)
	var after size
	back := eventually(10*time.Second, func() bool {
		after = sizeOf(t, s.PID())
		return after.files <= before.files && after.processes <= before.processes
	})
	if !back {
		t.Errorf("before %+v, after %+v", before, after)
	}
	// Go keeps threads for the most calls that ever blocked at once, so this only finds one per call.
	if after.threads > before.threads+2*width {
		t.Errorf("threads from %d to %d", before.threads, after.threads)
	}
	if after.memory > before.memory+16<<20 {
		t.Errorf("memory from %d to %d MiB", before.memory>>20, after.memory>>20)
	}
	t.Logf("load: %d calls in %v, %.1f ms each; before %+v, after %+v",
		calls, took, float64(took.Milliseconds())/calls, before, after)
}

// load makes calls from several clients' worth of goroutines.
func load(t *testing.T, s *mcptest.Server, calls, width int) {
	t.Helper()
	numbers := make(chan int)
	var group sync.WaitGroup
	for range width {
		group.Go(func() {
			for k := range numbers {
				if err := onePicture(s, k); err != nil {
					t.Errorf("call %d: %v", k, err)
				}
			}
		})
	}
	for k := range calls {
		numbers <- k
	}
	close(numbers)
	group.Wait()
}

func onePicture(s *mcptest.Server, k int) error {
	r, err := s.Call("execute_code", map[string]any{"code": fmt.Sprintf(picture, k)}, 2*time.Minute)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("job %d\n", k); r.ExitCode != 0 || r.Stdout != want {
		return fmt.Errorf("exit code %d, stdout %q, %q", r.ExitCode, r.Stdout, r.Message())
	}
	if len(r.Images) != 1 {
		return fmt.Errorf("%d images", len(r.Images))
	}
	config, err := png.DecodeConfig(bytes.NewReader(r.Images[0].Data))
	if err != nil || config.Width != k+1 {
		return fmt.Errorf("image is %d wide: %w", config.Width, err)
	}
	return nil
}

// size is what a process holds.
type size struct {
	files, threads, processes int
	memory                    int64
}

func sizeOf(t *testing.T, pid int) size {
	t.Helper()
	dir := "/proc/" + strconv.Itoa(pid)
	files, err := os.ReadDir(dir + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		t.Fatal(err)
	}
	got := size{files: len(files), processes: len(descendants(pid))}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "Threads:"):
			got.threads, _ = strconv.Atoi(fields[1])
		case strings.HasPrefix(line, "VmRSS:"):
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			got.memory = kib << 10
		}
	}
	return got
}
