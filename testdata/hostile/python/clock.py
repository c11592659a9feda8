# Sets the clock of the machine, its name, and its limits.
# want: exit 0
# want: stdout refused

import ctypes
import os
import resource
import time

try:
    time.clock_settime(time.CLOCK_REALTIME, 0)
    print("set the clock")
except OSError:
    pass
libc = ctypes.CDLL(None, use_errno=True)
if libc.sethostname(b"owned", 5) == 0:
    print("set the name")
if libc.reboot(0xFEE1DEAD) == 0:
    print("reboot")
try:
    os.nice(-5)
    print("raised its priority")
except OSError:
    pass
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    print("runs in real time")
except OSError:
    pass
for name in ("RLIMIT_CORE", "RLIMIT_NOFILE", "RLIMIT_FSIZE"):
    soft, hard = resource.getrlimit(getattr(resource, name))
    if hard != resource.RLIM_INFINITY:
        try:
            resource.setrlimit(getattr(resource, name), (hard + 1, hard + 1))
            print("raised", name)
        except (OSError, ValueError):
            pass
print("refused")
