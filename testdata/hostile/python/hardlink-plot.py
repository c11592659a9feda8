# Leaves hard links to files that it does not own where plots are collected.
# want: exit 0
# want: stdout made
# want: images 0
# want: artifacts 0

import os

for target in ("/etc/passwd", "/etc/hostname", "/usr/bin/env", "/proc/self/status"):
    try:
        os.link(target, os.path.basename(target) + ".csv")
    except OSError:
        pass
print("made")
