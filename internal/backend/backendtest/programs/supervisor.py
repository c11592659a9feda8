# Tries to get hold of process 1 of the sandbox. Prints a line for each success, then "done".
import ctypes
import os
import signal


def attempt(label, action):
    try:
        result = action()
    except OSError:
        return
    if result:
        print(label, result)


attempt("read memory of 1", lambda: open("/proc/1/mem", "rb").read(1))
attempt("write memory of 1", lambda: os.open("/proc/1/mem", os.O_RDWR))
attempt("read environment of 1", lambda: open("/proc/1/environ", "rb").read(1))
attempt("read maps of 1", lambda: open("/proc/1/maps", "rb").read(1))
attempt("open executable of 1 for writing", lambda: os.open("/proc/1/exe", os.O_WRONLY))
attempt("descriptors of 1", lambda: os.listdir("/proc/1/fd"))
attempt("root of 1", lambda: os.listdir("/proc/1/root/"))
attempt("working directory of 1", lambda: os.listdir("/proc/1/cwd/"))
attempt("write coredump_filter of 1", lambda: os.open("/proc/1/coredump_filter", os.O_WRONLY))

libc = ctypes.CDLL(None, use_errno=True)
attempt("ptrace of 1", lambda: libc.ptrace(16, 1, 0, 0) == 0)
try:
    pidfd = os.pidfd_open(1)
    number = 438  # pidfd_getfd
    for fd in range(8):
        if libc.syscall(number, pidfd, fd, 0) >= 0:
            print("took descriptor", fd, "of 1")
except OSError:
    pass

for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
attempt("stop 1", lambda: os.kill(1, signal.SIGSTOP))
print("done")
