# Sends every signal to the supervisor and to whatever it can reach.
# want: exit 0
# want: stdout alive

import os
import signal

for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
    if pid != os.getpid():
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
print("alive")
