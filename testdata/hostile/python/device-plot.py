# Makes device nodes named like plots.
# want: exit 0
# want: stdout refused
# want: images 0

import os
import stat

for kind, major, minor in ((stat.S_IFCHR, 1, 1), (stat.S_IFCHR, 1, 5), (stat.S_IFBLK, 8, 0), (stat.S_IFBLK, 254, 0)):
    try:
        os.mknod("plot.png", kind | 0o666, os.makedev(major, minor))
        open("plot.png", "rb").read(1)
        print("read a device", major, minor)
    except OSError:
        pass
    try:
        os.unlink("plot.png")
    except OSError:
        pass
print("refused")
