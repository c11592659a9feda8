# Leaves a daemon that has left its session, its parent and its streams.
# want: exit 0
# want: stdout parent
# want: sleeps 7451
# want: seconds 10

import os

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.execvp("sleep", ["sleep", "7451"])
    os._exit(0)
os.wait()
print("parent")
