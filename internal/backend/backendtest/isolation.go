package backendtest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
)

// isolationCases are about what a sandbox sees: network, files, processes, devices.
func isolationCases() []conformanceCase {
	isolated := []Need{NeedIsolation, NeedKernel, NeedPython}
	local := append([]Need{NeedLocal}, isolated...)
	return []conformanceCase{
		{name: "no network but loopback", needs: isolated, run: onlyLoopback},
		{name: "loopback works", needs: isolated, run: loopbackWorks},
		{name: "loopback is not the host's", needs: local, run: loopbackIsOwn},
		{name: "abstract sockets of the host are out of reach", needs: local, run: abstractSockets},
		{name: "files of the host are not there", needs: local, run: hostFiles},
		{name: "secrets of the host are not there", needs: isolated, run: hostSecrets},
		{name: "processes of the host are not there", needs: local, run: hostProcesses},
		{name: "System V IPC and host name are its own", needs: local, run: ownIPC},
		{name: "devices are private", needs: isolated, run: devices},
		{name: "root is read-only except the writable directories", needs: isolated, run: readOnlyRoot},
		{name: "/proc and /sys cannot be written", needs: isolated, run: readOnlyProc},
	}
}

func onlyLoopback(c *check) {
	c.expect(c.py(c.sandbox(), `
import socket
print([name for _, name in socket.if_nameindex() if name != "lo"])
for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "169.254.169.254"), (socket.AF_INET6, "2001:db8::1")):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            s = socket.socket(family, kind)
            s.settimeout(2)
            s.connect((address, 80))
            print("reached", address, kind)
        except OSError:
            pass
try:
    print("resolved", socket.gethostbyname("example.com"))
except OSError:
    pass
`), 0, "[]\n")
}

func loopbackWorks(c *check) {
	c.expect(c.py(c.sandbox(), `
import os, socket
hosts = [(socket.AF_INET, "127.0.0.1")]
try:
    if any(line.split()[-1] == "lo" for line in open("/proc/net/if_inet6")): hosts.append((socket.AF_INET6, "::1"))
except OSError:
    pass
for family, host in hosts:
    with socket.socket(family) as server:
        server.bind((host, 0))
        server.listen()
        with socket.create_connection(server.getsockname()[:2], 5) as client:
            peer, _ = server.accept()
            client.sendall(b"x")
            assert peer.recv(1) == b"x", host
print(socket.gethostbyname("localhost"))
`), 0, "127.0.0.1\n")
}

func loopbackIsOwn(c *check) {
	c.expect(c.py(c.sandbox(), connect, c.listen()), 0, "refused\n")
}

func abstractSockets(c *check) {
	name := "sandbox-test-" + marker()
	l, err := net.Listen("unix", "@"+name)
	if err != nil {
		c.t.Fatalf("listen: %v", err)
	}
	defer func() { _ = l.Close() }()
	c.expect(c.py(c.sandbox(), `
import socket, sys
try:
    socket.socket(socket.AF_UNIX).connect("\0" + sys.argv[1])
    print("connected")
except OSError:
    print("refused")
`, name), 0, "refused\n")
}

func hostFiles(c *check) {
	var canaries []string
	for _, dir := range []string{os.TempDir(), "/var/tmp", "/dev/shm", "/run", "/root", "/home", "/mnt", "/srv", "/opt"} {
		canary := filepath.Join(dir, "sandbox-test-"+marker())
		if err := os.WriteFile(canary, []byte("secret"), 0o644); err != nil {
			continue // this user cannot write there
		}
		defer func() { _ = os.Remove(canary) }()
		canaries = append(canaries, canary)
	}
	if len(canaries) == 0 {
		c.t.Fatal("there is no directory to put a canary in")
	}
	r := c.py(c.sandbox(), `
import os, sys
wanted = {os.path.basename(path) for path in sys.argv[1:]}
for path in sys.argv[1:]:
    if os.path.exists(path): print("there is", path)
for top, dirs, files in os.walk("/"):
    dirs[:] = [d for d in dirs if os.path.join(top, d) not in ("/proc", "/sys", "/usr")]
    for name in wanted & set(files): print("found", top, name)
`, canaries...)
	c.expect(r, 0, "")
}

func hostSecrets(c *check) {
	c.expect(c.py(c.sandbox(), `
import os
for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host_rsa_key", "/etc/ssl/private",
             "/root/.ssh", "/root/.bashrc", "/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock",
             "/run/containerd/containerd.sock", "/run/systemd", "/run/user", "/run/dbus/system_bus_socket",
             "/var/run/secrets/kubernetes.io", "/var/lib/docker", "/var/spool/cron", "/var/log/syslog", "/boot/grub",
             "/proc/kcore", "/proc/kmsg", "/proc/sysrq-trigger", "/proc/keys", "/proc/timer_list", "/sys/kernel/debug/tracing", "/sys/firmware/dmi"):
    try:
        if os.path.isdir(path):
            if os.listdir(path): print("can list", path)
        elif open(path, "rb").read(1): print("can read", path)
    except OSError:
        pass
print([name for name in os.listdir("/home") if name not in ("sandbox",)] if os.path.isdir("/home") else [])
`), 0, "[]\n")
}

func hostProcesses(c *check) {
	mark := marker()
	host := exec.CommandContext(c.ctx, "sleep", mark)
	if err := host.Start(); err != nil {
		c.t.Fatalf("start a process on the host: %v", err)
	}
	defer func() {
		_ = host.Process.Kill()
		_ = host.Wait()
	}()
	c.expect(c.py(c.sandbox(), `
import os, sys
pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
for pid in pids:
    if pid == os.getpid(): continue
    try:
        if sys.argv[1] in open("/proc/%d/cmdline" % pid).read(): print("sees", pid)
    except OSError: pass
print(len(pids) < 10, max(pids) < 100)
`, mark), 0, "True True\n")
}

func ownIPC(c *check) {
	r := c.succeed(c.py(c.sandbox(), `
import os
print(len(open("/proc/sysvipc/shm").readlines()))
print(os.uname().nodename)
`))
	got := lines(r.out)
	host, err := os.Hostname()
	if err != nil {
		c.t.Fatal(err)
	}
	if len(got) != 2 || got[0] != "1" || got[1] == host {
		c.t.Errorf("want no shared memory and another name than %q; got %q", host, got)
	}
}

func devices(c *check) {
	r := c.succeed(c.py(c.sandbox(), `
import os, stat
allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
for top, dirs, files in os.walk("/dev"):
    for name in files:
        info = os.lstat(os.path.join(top, name))
        if stat.S_ISBLK(info.st_mode) or (stat.S_ISCHR(info.st_mode) and name not in allowed and not top.startswith("/dev/pts")):
            print("has", top, name)
for name in ("null", "zero", "full", "random", "urandom"):
    open("/dev/" + name, "rb").read(1)
open("/dev/null", "w").write("x")
try:
    open("/dev/full", "w", buffering=1).write("x\n")
    print("/dev/full is not full")
except OSError as e:
    if e.errno != 28: print(e)
open("/dev/shm/f", "w").write("x")
for kind in (stat.S_IFCHR, stat.S_IFBLK):
    try:
        os.mknod("/tmp/node", kind | 0o666, os.makedev(1, 5))
        open("/tmp/node", "rb").read(1)
        print("made and opened a device")
    except OSError: pass
print(os.path.realpath("/dev/fd"), os.path.exists("/dev/stdin"))
`))
	if got := lines(r.out); len(got) != 1 || !strings.HasSuffix(got[0], "/fd True") {
		c.t.Errorf("got %q", got)
	}
}

func readOnlyRoot(c *check) {
	c.expect(c.py(c.sandbox(), `
import os, sys
for dir in sys.argv[1:]:
    name = os.path.join(dir, "made")
    with open(name, "w") as f: f.write("#!/bin/sh\necho ran\n")
    os.chmod(name, 0o755)
writable = [os.path.realpath(dir) for dir in sys.argv[1:]] + ["/proc", "/dev", "/run/sandbox"]
for top, dirs, files in os.walk("/"):
    dirs[:] = [d for d in dirs if os.path.join(top, d) not in writable and not os.path.islink(os.path.join(top, d))]
    try:
        with open(os.path.join(top, "made"), "w"): pass
        print("can write", top)
    except OSError: pass
    if top.count("/") > 3: dirs.clear()
for name in ("/etc/passwd", "/bin/sh", "/etc/hosts", "/etc/resolv.conf"):
    try:
        os.close(os.open(name, os.O_WRONLY))
        print("can open for writing", name)
    except OSError: pass
`, backend.DefaultWorkDir, backend.HomeDir, "/tmp", "/dev/shm", backend.ArtifactDir), 0, "")
}

func readOnlyProc(c *check) {
	c.expect(c.py(c.sandbox(), `
import os
for name in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/modprobe",
             "/proc/sys/net/ipv4/ip_forward", "/proc/sys/user/max_user_namespaces", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper",
             "/sys/power/state", "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs", "/proc/1/mem", "/proc/1/environ",
             "/proc/irq/default_smp_affinity", "/proc/fs", "/proc/bus", "/proc/acpi"):
    try:
        os.close(os.open(name, os.O_WRONLY))
        print("can open for writing", name)
    except OSError: pass
for top in ("/sys", "/proc/sys"):
    for path, dirs, files in os.walk(top):
        if path.count("/") > 4: dirs.clear()
        for name in files:
            full = os.path.join(path, name)
            try:
                os.close(os.open(full, os.O_WRONLY))
                print("can open for writing", full)
            except OSError: pass
`), 0, "")
}
