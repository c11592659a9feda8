# Removes its own limits through control groups and its own process.
# want: exit 0
# want: stdout refused

import glob
import os

for pattern in ("/sys/fs/cgroup/**/cgroup.procs", "/sys/fs/cgroup/**/memory.max", "/sys/fs/cgroup/**/pids.max", "/sys/fs/cgroup/**/memory.limit_in_bytes"):
    for name in glob.glob(pattern, recursive=True):
        try:
            os.close(os.open(name, os.O_WRONLY))
            print("opened", name)
        except OSError:
            pass
try:
    os.mkdir("/sys/fs/cgroup/mine")
    print("made a group")
except OSError:
    pass
try:
    os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000")
    print("made itself immortal")
except OSError:
    pass
print("refused")
