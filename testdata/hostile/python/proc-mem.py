# Reads and writes the memory of the supervisor.
# want: exit 0
# want: stdout refused

import ctypes
import os


def attempt(label, action):
    try:
        result = action()
    except OSError:
        return
    print(label, "gave", result)


attempt("read", lambda: open("/proc/1/mem", "rb").read(1))
attempt("write", lambda: os.open("/proc/1/mem", os.O_RDWR))
attempt("maps", lambda: open("/proc/1/maps").read(1))
libc = ctypes.CDLL(None, use_errno=True)
for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
    if libc.ptrace(request, 1, 0, 0) == 0:
        print("ptrace", request)
print("refused")
