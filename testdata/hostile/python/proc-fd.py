# Takes the descriptors of the supervisor, one of which leads to the server.
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


for number in range(64):
    attempt(number, lambda: os.open("/proc/1/fd/%d" % number, os.O_RDWR))
try:
    pidfd = os.pidfd_open(1)
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(64):
        if libc.syscall(438, pidfd, number, 0) >= 0:
            print("took", number)
except (OSError, AttributeError):
    pass
print("refused")
