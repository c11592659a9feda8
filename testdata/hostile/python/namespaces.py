# Makes and enters namespaces, where it would be root.
# want: exit 0
# want: stdout refused

import ctypes
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
for name, flag in dict(user=0x10000000, mount=0x20000, pid=0x20000000, net=0x40000000, ipc=0x8000000, uts=0x4000000, cgroup=0x2000000, time=0x80).items():
    for flags in (flag, flag | 0x10000000):
        pid = os.fork()
        if pid == 0:
            os._exit(1 if libc.unshare(flags) == 0 else 0)
        if os.waitpid(pid, 0)[1]:
            print("unshared", name)
for name in os.listdir("/proc/1/ns") if os.access("/proc/1/ns", os.R_OK) else []:
    try:
        if libc.setns(os.open("/proc/1/ns/" + name, os.O_RDONLY), 0) == 0:
            print("entered", name)
    except OSError:
        pass
if os.uname().machine == "x86_64":
    pid = libc.syscall(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)  # clone
    if pid == 0:
        os._exit(0)
    if pid > 0:
        print("cloned a user namespace")
arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, signal.SIGCHLD)
pid = libc.syscall(435, ctypes.byref(arguments), ctypes.sizeof(arguments))  # clone3
if pid == 0:
    os._exit(0)
if pid > 0:
    print("cloned a user namespace by clone3")
print("refused")
