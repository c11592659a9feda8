package backendtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// limitCases check what Capabilities promise. Each limit, once hit, must leave the sandbox usable.
func limitCases() []conformanceCase {
	return []conformanceCase{
		{name: "memory limit", needs: []Need{NeedMemory, NeedPython}, run: memoryLimit},
		{name: "memory limit counts all processes", needs: []Need{NeedMemory, NeedPython}, run: memoryOfTree},
		{name: "memory limit counts files in memory", needs: []Need{NeedMemory, NeedPython}, run: memoryOfFiles},
		{name: "memory within the limit", needs: []Need{NeedMemory, NeedPython}, run: memoryWithin},
		{name: "process limit", needs: []Need{NeedProcesses, NeedPython}, run: processLimit},
		{name: "process limit counts threads", needs: []Need{NeedProcesses, NeedPython}, run: threadLimit},
		{name: "fork bomb", needs: []Need{NeedProcesses, NeedPython}, run: forkBomb},
		{name: "disk limit covers all writable directories together", needs: []Need{NeedDisk, NeedPython}, run: diskLimit},
		{name: "empty files without end", needs: []Need{NeedDisk, NeedPython}, run: inodeLimit},
		{name: "disk limit holds for copy in", needs: []Need{NeedDisk}, run: diskLimitCopyIn},
		{name: "disk is free again after removal", needs: []Need{NeedDisk, NeedPython}, run: diskFreed},
		{name: "file size limit", needs: []Need{NeedFileSize, NeedPython}, run: fileSizeLimit},
		{name: "open files limit", needs: []Need{NeedOpenFiles, NeedPython}, run: openFilesLimit},
		{name: "cpu limit", needs: []Need{NeedCPU, NeedPython}, run: cpuLimit},
		{name: "limits cannot be raised from inside", needs: []Need{NeedOpenFiles, NeedPython}, run: cannotRaise},
		{name: "all limits together", needs: []Need{NeedPython, NeedKernel}, run: allLimits},
	}
}

const mib = 1 << 20

func (c *check) usable(s backend.Sandbox) {
	c.t.Helper()
	c.expect(c.sh(s, "echo next"), 0, "next\n")
}

func (c *check) hit(r result, outcome backend.Outcome, reached string) {
	c.t.Helper()
	if r.Outcome != outcome || r.Code == 0 || !slices.Contains(r.Reached, reached) {
		c.t.Errorf("want outcome %s, a code, and %q reached; got %v", outcome, reached, r)
	}
}

func memoryLimit(c *check) {
	s := c.create(c.with(backend.Limits{Memory: 96 * mib}))
	r := c.py(s, `
chunks = []
for n in range(64):
    chunks.append(b"x" * (8 << 20))
print("allocated")
`)
	c.hit(r, backend.OutOfMemory, "memory")
	if r.Code != 137 || strings.Contains(r.out, "allocated") {
		c.t.Errorf("want code 137; got %v", r)
	}
	if r.Usage.PeakMemory != 0 && (r.Usage.PeakMemory > 100*mib || r.Usage.PeakMemory < 48*mib) {
		c.t.Errorf("peak memory %d MiB under a limit of 96 MiB", r.Usage.PeakMemory/mib)
	}
	c.usable(s)
}

func memoryOfTree(c *check) {
	s := c.create(c.with(backend.Limits{Memory: 128 * mib}))
	r := c.py(s, `
import os, time
pids = []
for _ in range(6):
    pid = os.fork()
    if pid == 0:
        keep = b"x" * (40 << 20)
        time.sleep(1)
        os._exit(0)
    pids.append(pid)
worst = max(os.waitpid(pid, 0)[1] for pid in pids)
print("worst", worst)
raise SystemExit(1 if worst else 0)
`)
	c.hit(r, backend.OutOfMemory, "memory")
	c.usable(s)
}

func memoryOfFiles(c *check) {
	s := c.create(c.with(backend.Limits{Memory: 64 * mib, Disk: 512 * mib}))
	r := c.py(s, `
with open("/dev/shm/fill", "wb") as f:
    for _ in range(256):
        f.write(b"x" * (1 << 20))
print("written")
`)
	if r.Code == 0 {
		c.t.Errorf("256 MiB of files in memory fit under a limit of 64 MiB: %v", r)
	}
	c.usable(c.sandbox())
}

func memoryWithin(c *check) {
	s := c.create(c.with(backend.Limits{Memory: 256 * mib}))
	c.expect(c.py(s, `keep = b"x" * (64 << 20); print(len(keep))`), 0, fmt.Sprintln(64*mib))
}

func processLimit(c *check) {
	s := c.create(c.with(backend.Limits{Processes: 64}))
	r := c.py(s, `
import os, time
n = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        n += 1
except OSError:
    pass
print(n, flush=True)
raise SystemExit(1)
`)
	n, err := strconv.Atoi(strings.TrimSpace(r.out))
	if err != nil || n >= 64 || n < 32 {
		c.t.Errorf("forked %d times under a limit of 64", n)
	}
	c.hit(r, backend.OutOfProcesses, "processes")
	c.usable(s)
}

func threadLimit(c *check) {
	s := c.create(c.with(backend.Limits{Processes: 64}))
	r := c.py(s, `
import threading
stop = threading.Event()
threads = []
try:
    for _ in range(200):
        t = threading.Thread(target=stop.wait)
        t.start()
        threads.append(t)
except RuntimeError:
    pass
print(len(threads))
stop.set()
`)
	n, err := strconv.Atoi(strings.TrimSpace(c.succeed(r).out))
	if err != nil || n >= 64 || n < 32 {
		c.t.Errorf("%d threads under a limit of 64", n)
	}
	if !slices.Contains(r.Reached, "processes") {
		c.t.Errorf("the program coped, and the limit is not reported: %v", r)
	}
	c.usable(s)
}

func forkBomb(c *check) {
	s := c.create(c.with(backend.Limits{Processes: 40, MilliCPUs: 1000}))
	cmd := c.pyCommand(`
import os
while True:
    try: os.fork()
    except OSError: pass
`)
	cmd.Timeout = 2 * time.Second
	timedOut(c, c.run(s, cmd), 6*time.Second)
	c.usable(s)
	c.usable(c.sandbox())
}

func diskLimit(c *check) {
	s := c.create(c.with(backend.Limits{Disk: 16 * mib}))
	r := c.py(s, `
import os, errno
total = 0
for dir in (os.getcwd(), "/tmp", "/dev/shm", os.environ["HOME"]):
    try:
        f = open(dir + "/fill", "wb", buffering=0)
        while True:
            total += f.write(b"x" * 65536)
            if total > 256 << 20: break
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG): print(dir, e)
print(total)
raise SystemExit(1)
`)
	total, err := strconv.Atoi(strings.TrimSpace(r.out))
	if err != nil || total > 16*mib || total < 8*mib {
		c.t.Errorf("wrote %d bytes under a limit of %d: %v", total, 16*mib, r)
	}
	c.hit(r, backend.OutOfDisk, "disk")
	c.succeed(c.sh(s, "rm -f fill /tmp/fill /dev/shm/fill $HOME/fill; echo x > /tmp/next"))
}

func inodeLimit(c *check) {
	s := c.create(c.with(backend.Limits{Disk: 4 * mib, Memory: 512 * mib}))
	cmd := c.pyCommand(`
n = 0
try:
    for n in range(1_000_000): open("/tmp/%d" % n, "w").close()
except OSError as e:
    print("stopped", e.errno, n)
`)
	cmd.Timeout = 30 * time.Second
	// Empty files take no bytes of the disk, but memory of the kernel.
	if r := c.run(s, cmd); !strings.HasPrefix(r.out, "stopped 28 ") && r.Outcome != backend.OutOfMemory {
		c.t.Errorf("want ENOSPC or memory_limit before a million files; got %v", r)
	}
	c.usable(c.sandbox())
}

func diskLimitCopyIn(c *check) {
	s := c.create(c.with(backend.Limits{Disk: 4 * mib}))
	err := s.CopyIn(c.ctx, "/tmp", archive(c.t, file("large", strings.Repeat("x", 8*mib), 0o644)))
	c.refused("copy in of 8 MiB under a limit of 4 MiB", err, backend.ErrInvalid, backend.ErrRefused)
	c.usable(s)
}

func diskFreed(c *check) {
	s := c.create(c.with(backend.Limits{Disk: 8 * mib}))
	for range 4 {
		c.succeed(c.py(s, `
import os
open("fill", "wb").write(b"x" * (6 << 20))
os.remove("fill")
`))
	}
}

func fileSizeLimit(c *check) {
	s := c.create(c.with(backend.Limits{FileSize: 2 * mib, Disk: 64 * mib}))
	c.expect(c.py(s, `
import os
try:
    open("f", "wb").write(b"x" * (8 << 20))
except OSError as e:
    print(e.errno, os.path.getsize("f") <= 2 << 20)
`), 0, "27 True\n")
	r := c.py(s, `
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
open("g", "wb", buffering=0).write(b"x" * (2 << 20))
open("g", "ab", buffering=0).write(b"x")
`)
	if r.Outcome != backend.OutOfDisk || r.Code != 128+25 {
		c.t.Errorf("want disk_limit with the code of SIGXFSZ; got %v", r)
	}
	c.expect(c.sh(s, "wc -c < g"), 0, fmt.Sprintln(2*mib))
}

func openFilesLimit(c *check) {
	s := c.create(c.with(backend.Limits{OpenFiles: 64}))
	c.expect(c.py(s, `
files = []
try:
    while len(files) < 1000: files.append(open("/dev/null"))
except OSError as e:
    print(e.errno, 50 < len(files) < 64)
`), 0, "24 True\n")
}

func cpuLimit(c *check) {
	s := c.create(c.with(backend.Limits{MilliCPUs: 500}))
	r := c.succeed(c.py(s, `
import os, time
end = time.monotonic() + 2
if os.fork() == 0:
    while time.monotonic() < end: pass
    os._exit(0)
while time.monotonic() < end: pass
os.wait()
`))
	if share := r.Usage.CPU.Seconds() / r.Usage.Wall.Seconds(); share > 0.65 {
		c.t.Errorf("two busy processes used %.2f processors under a limit of 0.5", share)
	}
}

func cannotRaise(c *check) {
	s := c.create(c.with(backend.Limits{OpenFiles: 64, FileSize: 4 * mib}))
	c.expect(c.py(s, `
import os, resource
for what, name in ((resource.RLIMIT_NOFILE, "files"), (resource.RLIMIT_FSIZE, "size"), (resource.RLIMIT_CORE, "core")):
    soft, hard = resource.getrlimit(what)
    try:
        resource.setrlimit(what, (hard + 1, hard + 1))
        print(name, "raised")
    except (ValueError, OSError):
        print(name, "kept", hard)
try:
    os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000")
    print("oom_score_adj written")
except OSError:
    pass
`), 0, "files kept 64\nsize kept 4194304\ncore kept 0\n")
}

// allLimits is what the server asks for by default; an ordinary program must not notice.
func allLimits(c *check) {
	caps := c.backend.Capabilities()
	limits := backend.Limits{Memory: 512 * mib, MilliCPUs: 1000, Processes: 128, Disk: 256 * mib, FileSize: 128 * mib, OpenFiles: 1024}
	s, err := c.backend.Create(c.ctx, c.with(limits))
	if err != nil {
		if missing := caps.Unenforced(limits); len(missing) > 0 {
			c.refused("create with all limits", err, backend.ErrUnsupported)
			return
		}
		c.t.Fatalf("create with all limits: %v", err)
	}
	defer func() {
		if err := s.Close(c.ctx); err != nil {
			c.t.Errorf("close: %v", err)
		}
	}()
	c.expect(c.py(s, `
import json, os, subprocess, tempfile, threading, socket, sqlite3, multiprocessing
with tempfile.TemporaryDirectory() as d:
    open(d + "/f", "w").write("x" * 1000)
t = threading.Thread(target=lambda: None); t.start(); t.join()
print(subprocess.check_output(["echo", "child"], text=True), end="")
a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1))
q = multiprocessing.Queue(); q.put(1); print(q.get())
print(sqlite3.connect(os.environ["HOME"] + "/db").execute("select 1").fetchall())
`), 0, "child\nb'x'\n1\n[(1,)]\n")
}
