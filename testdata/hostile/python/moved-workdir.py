# Moves its working directory away and puts a link to /etc in its place.
# want: exit 0
# want: stdout refused
# want: artifacts 0

import os

home = os.getcwd()
try:
    os.rename(home, "/tmp/moved")
    os.symlink("/etc", home)
    print("moved")
except OSError:
    pass
try:
    os.rmdir(home)
    print("removed")
except OSError:
    pass
print("refused")
