package backendtest

import (
	_ "embed"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// privilegeCases are about what programs may ask the kernel for.
func privilegeCases() []conformanceCase {
	isolated := []Need{NeedIsolation, NeedKernel, NeedPython}
	jailed := append([]Need{NeedJail}, isolated...)
	return []conformanceCase{
		{name: "user is not root", needs: isolated, run: notRoot},
		{name: "no capabilities, no new privileges", needs: isolated, run: noCapabilities},
		{name: "seccomp is on", needs: jailed, run: seccompOn},
		{name: "dangerous system calls are refused", needs: jailed, run: refusedCalls},
		{name: "refused system calls do not kill", needs: jailed, run: refusedCallsGently},
		{name: "no core dumps", needs: isolated, run: noCoreDumps},
		{name: "other architectures' system calls", needs: jailed, run: otherABI},
		{name: "supervisor is out of reach", needs: isolated, run: supervisorOutOfReach},
		{name: "set-user-id programs give nothing", needs: isolated, run: setUserID},
	}
}

//go:embed programs/refused_calls.py
var refusedCallsProgram string

//go:embed programs/supervisor.py
var supervisorProgram string

func notRoot(c *check) {
	c.expect(c.py(c.sandbox(), `
import os
print(os.getresuid(), os.getresgid(), [g for g in os.getgroups() if g == 0])
`), 0, "(1000, 1000, 1000) (1000, 1000, 1000) []\n")
}

// status prints lines of /proc/self/status.
const status = `
import sys
have = dict(line.rstrip("\n").split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
for name in sys.argv[1:]: print(name, have.get(name))
`

func noCapabilities(c *check) {
	none := "0000000000000000"
	c.expect(c.py(c.sandbox(), status, "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs"), 0, strings.Join([]string{
		"CapInh " + none, "CapPrm " + none, "CapEff " + none, "CapBnd " + none, "CapAmb " + none, "NoNewPrivs 1\n",
	}, "\n"))
}

func seccompOn(c *check) {
	c.expect(c.py(c.sandbox(), status, "Seccomp"), 0, "Seccomp 2\n")
}

func refusedCalls(c *check) {
	r := c.py(c.sandbox(), refusedCallsProgram)
	if r.Code != 0 || !strings.HasSuffix(r.out, "done\n") {
		c.t.Fatalf("got %v", r)
	}
	for _, line := range lines(strings.TrimSuffix(r.out, "done\n")) {
		if line != "" {
			c.t.Errorf("%s", line)
		}
	}
}

// refusedCallsGently checks what libraries try and have a second way for.
func refusedCallsGently(c *check) {
	c.expect(c.py(c.sandbox(), `
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
numbers = {"x86_64": {"io_uring_setup": 425, "clone3": 435, "userfaultfd": 323}, "aarch64": {"io_uring_setup": 425, "clone3": 435, "userfaultfd": 282}}
for name, number in numbers[os.uname().machine].items():
    result = libc.syscall(number, 0, 0)
    if result != -1 or ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM, errno.EACCES): print(name, result, ctypes.get_errno())
print("alive")
`), 0, "alive\n")
}

func noCoreDumps(c *check) {
	s := c.sandbox()
	c.expect(c.py(s, `
import resource
print(resource.getrlimit(resource.RLIMIT_CORE))
`), 0, "(0, 0)\n")
	r := c.sh(s, "kill -SEGV $$")
	if r.Outcome != backend.Signaled || r.Signal != 11 {
		c.t.Errorf("got %v", r)
	}
	c.expect(c.sh(s, "ls"), 0, "")
}

// otherABI makes 32-bit and x32 system calls on amd64, which a filter for 64-bit numbers does not see.
func otherABI(c *check) {
	c.expect(c.py(c.sandbox(), `
import ctypes, mmap, os, signal, sys
if os.uname().machine != "x86_64":
    print("[]")
    sys.exit()
def attempt(code):
    pid = os.fork()
    if pid == 0:
        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        call = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
        result = ctypes.c_int(call()).value
        os._exit(42 if result == os.getpid() else 7)
    status = os.waitpid(pid, 0)[1]
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 42
calls = {
    "i386 getpid": b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3",  # push rbx; mov eax, 20; int 0x80; pop rbx; ret
    "x32 getpid": b"\xb8\x27\x00\x00\x40\x0f\x05\xc3",           # mov eax, 0x40000027; syscall; ret
}
print([name for name, code in calls.items() if attempt(code)])
`), 0, "[]\n")
}

func supervisorOutOfReach(c *check) {
	s := c.sandbox()
	c.expect(c.py(s, supervisorProgram), 0, "done\n")
	c.usable(s)
}

func setUserID(c *check) {
	c.expect(c.py(c.sandbox(), `
import os, shutil, subprocess
for name in ("su", "sudo", "mount", "passwd", "newgrp", "pkexec"):
    path = shutil.which(name)
    if path and os.stat(path).st_mode & 0o6000 and os.stat(path).st_uid == 0:
        pid = os.fork()
        if pid == 0:
            null = os.open("/dev/null", os.O_RDWR)
            for n in (0, 1, 2): os.dup2(null, n)
            os.execv(path, [path, "--version"])
        for line in open("/proc/%d/status" % pid):
            if line.startswith("Uid:") and "\t0" in line.split(":")[1]: print(path, line)
        os.waitpid(pid, 0)
shutil.copy("/bin/sh", "/tmp/sh")
os.chmod("/tmp/sh", 0o6755)
print(subprocess.check_output(["/tmp/sh", "-c", "id -u"], text=True), end="")
`), 0, "1000\n")
}
