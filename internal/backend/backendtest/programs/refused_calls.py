# Calls what a sandbox must refuse. Prints a line for each call that succeeds, then "done".
import ctypes
import errno
import os
import signal
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER = 0x20000, 0x4000000, 0x8000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP, CLONE_NEWTIME = 0x20000000, 0x40000000, 0x2000000, 0x80

NUMBERS = {
    "x86_64": dict(
        ptrace=101, chroot=161, mount=165, umount2=166, swapon=167, reboot=169, sethostname=170, iopl=172, ioperm=173,
        init_module=175, delete_module=176, quotactl=179, settimeofday=164, acct=163, pivot_root=155, syslog=103,
        setuid=105, setresuid=117, clock_settime=227, kexec_load=246, add_key=248, request_key=249, keyctl=250,
        unshare=272, setns=308, perf_event_open=298, fanotify_init=300, open_by_handle_at=304, process_vm_readv=310,
        kcmp=312, finit_module=313, bpf=321, userfaultfd=323, io_uring_setup=425, open_tree=428, move_mount=429,
        fsopen=430, fsconfig=431, fsmount=432, pidfd_getfd=438, mount_setattr=442, clone=56, personality=135,
        vhangup=153, lookup_dcookie=212, move_pages=279, mbind=237, io_uring_enter=426, landlock_restrict_self=446,
    ),
    "aarch64": dict(
        ptrace=117, chroot=51, mount=40, umount2=39, swapon=224, reboot=142, sethostname=161,
        init_module=105, delete_module=106, quotactl=60, settimeofday=170, acct=89, pivot_root=41, syslog=116,
        setuid=146, setresuid=147, clock_settime=112, kexec_load=104, add_key=217, request_key=218, keyctl=219,
        unshare=97, setns=268, perf_event_open=241, fanotify_init=262, open_by_handle_at=265, process_vm_readv=270,
        kcmp=272, finit_module=273, bpf=280, userfaultfd=282, io_uring_setup=425, open_tree=428, move_mount=429,
        fsopen=430, fsconfig=431, fsmount=432, pidfd_getfd=438, mount_setattr=442, personality=92,
        vhangup=58, lookup_dcookie=18, io_uring_enter=426,
    ),
}[os.uname().machine]


def call(name, *args):
    """Returns the errno, or 0 if the call succeeded."""
    if name not in NUMBERS:
        return -1
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(NUMBERS[name]), *[a if isinstance(a, bytes) or a is None else ctypes.c_long(a) for a in args])
    return 0 if result >= 0 else ctypes.get_errno()


def must_fail(label, *args, but=()):
    """Reports success, and any errno that shows that the call got past the wall."""
    code = call(*args)
    if code == 0 or code in but:
        print(label, "returned", errno.errorcode.get(code, code))


buffer = ctypes.create_string_buffer(4096)
address = ctypes.addressof(buffer)

# In children: what would change this process if it worked.
def in_child(action):
    pid = os.fork()
    if pid == 0:
        action()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)


def namespaces():
    for name, flag in dict(
        user=CLONE_NEWUSER, mnt=CLONE_NEWNS, pid=CLONE_NEWPID, net=CLONE_NEWNET, ipc=CLONE_NEWIPC, uts=CLONE_NEWUTS,
        cgroup=CLONE_NEWCGROUP, time=CLONE_NEWTIME, user_and_mnt=CLONE_NEWUSER | CLONE_NEWNS,
    ).items():
        in_child(lambda: must_fail("unshare " + name, "unshare", flag))
    for kind in os.listdir("/proc/self/ns"):
        try:
            fd = os.open("/proc/self/ns/" + kind, os.O_RDONLY)
        except OSError:
            continue
        in_child(lambda: must_fail("setns " + kind, "setns", fd, 0))
    if "clone" in NUMBERS:
        result = libc.syscall(ctypes.c_long(NUMBERS["clone"]), ctypes.c_long(CLONE_NEWUSER | signal.SIGCHLD), None, None, None, None)
        if result == 0:
            os._exit(0)
        if result > 0:
            print("clone of a user namespace succeeded")
            os.waitpid(result, 0)


def mounts():
    in_child(lambda: must_fail("mount tmpfs", "mount", b"none", b"/tmp", b"tmpfs", 0, None))
    in_child(lambda: must_fail("mount proc", "mount", b"proc", b"/tmp", b"proc", 0, None))
    in_child(lambda: must_fail("bind mount", "mount", b"/etc", b"/tmp", None, 4096, None))
    in_child(lambda: must_fail("remount writable", "mount", None, b"/", None, 32 | 4096, None))
    for target in (b"/proc", b"/tmp", b"/dev", b"/sandbox"):
        in_child(lambda: must_fail("umount " + target.decode(), "umount2", target, 2))
    in_child(lambda: must_fail("pivot_root", "pivot_root", b"/tmp", b"/tmp"))
    in_child(lambda: must_fail("chroot", "chroot", b"/tmp"))
    must_fail("fsopen", "fsopen", b"tmpfs", 0)
    must_fail("open_tree", "open_tree", -100, b"/tmp", 1)
    must_fail("mount_setattr", "mount_setattr", -100, b"/", 0, address, 32)


def others():
    in_child(lambda: must_fail("setuid 0", "setuid", 0))
    in_child(lambda: must_fail("setresuid 0", "setresuid", 0, 0, 0))
    in_child(lambda: must_fail("sethostname", "sethostname", b"owned", 5))
    must_fail("ptrace attach 1", "ptrace", 16, 1, 0, 0)
    must_fail("ptrace seize 1", "ptrace", 0x4206, 1, 0, 0)
    must_fail("process_vm_readv of 1", "process_vm_readv", 1, address, 1, address, 1, 0)
    must_fail("kcmp with 1", "kcmp", os.getpid(), 1, 0, 0, 0)
    must_fail("bpf map", "bpf", 0, address, 64, but=(errno.EINVAL,))
    must_fail("io_uring_setup", "io_uring_setup", 8, address, but=(errno.EINVAL, errno.EFAULT))
    must_fail("keyctl session", "keyctl", 0, -3, 0)
    must_fail("add_key", "add_key", b"user", b"name", b"value", 5, -2)
    must_fail("request_key", "request_key", b"user", b"name", None, 0, but=(errno.ENOKEY,))
    must_fail("userfaultfd", "userfaultfd", 1)
    must_fail("perf_event_open", "perf_event_open", address, 0, -1, -1, 0, but=(errno.EINVAL, errno.ENOENT))
    must_fail("fanotify_init", "fanotify_init", 0, 0)
    must_fail("open_by_handle_at", "open_by_handle_at", -100, address, 0, but=(errno.EINVAL, errno.ESTALE))
    must_fail("clock_settime", "clock_settime", 0, address, but=(errno.EINVAL,))
    must_fail("settimeofday", "settimeofday", address, 0)
    must_fail("init_module", "init_module", address, 16, b"", but=(errno.ENOEXEC,))
    must_fail("finit_module", "finit_module", 0, b"", 0, but=(errno.ENOEXEC, errno.EBADF))
    must_fail("delete_module", "delete_module", b"none", 0, but=(errno.ENOENT,))
    must_fail("kexec_load", "kexec_load", 0, 0, None, 0, but=(errno.EINVAL,))
    must_fail("swapon", "swapon", b"/tmp", 0, but=(errno.EINVAL,))
    must_fail("acct", "acct", None)
    must_fail("quotactl", "quotactl", 0x800001 << 8, None, 0, address)
    must_fail("syslog read", "syslog", 3, address, 100)
    must_fail("iopl", "iopl", 3)
    must_fail("ioperm", "ioperm", 0, 8, 1)
    must_fail("personality ADDR_NO_RANDOMIZE", "personality", 0x0040000)
    must_fail("vhangup", "vhangup")


def sockets():
    for name, family, kind, protocol in (
        ("packet", 17, socket.SOCK_RAW, 0x300), ("packet datagram", 17, socket.SOCK_DGRAM, 0x300),
        ("raw icmp", socket.AF_INET, socket.SOCK_RAW, 1), ("vsock", 40, socket.SOCK_STREAM, 0),
        ("bluetooth", 31, socket.SOCK_RAW, 1), ("xdp", 44, socket.SOCK_RAW, 0), ("tipc", 30, socket.SOCK_RDM, 0),
        ("rds", 21, socket.SOCK_SEQPACKET, 0), ("can", 29, socket.SOCK_RAW, 1), ("ax25", 3, socket.SOCK_DGRAM, 0),
    ):
        try:
            socket.socket(family, kind, protocol).close()
            print("socket", name)
        except OSError:
            pass


namespaces()
mounts()
others()
sockets()
print("done")
