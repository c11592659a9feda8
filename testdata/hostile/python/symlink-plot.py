# Leaves links to files of the host where plots are collected.
# want: exit 0
# want: stdout made
# want: images 0
# want: artifacts 0

import os

for name, target in {
    "plot.png": "/etc/shadow", "data.csv": "/etc/passwd", "page.html": "/proc/1/environ", "zero.png": "/dev/zero",
    "self.svg": "self.svg", "up.pdf": "../../../../etc/hostname",
}.items():
    os.symlink(target, name)
os.symlink("/etc", "directory")
os.symlink("/", "root")
print("made")
