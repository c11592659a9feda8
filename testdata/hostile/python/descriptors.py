# Looks for descriptors that were left open for it.
# want: exit 0
# want: stdout []

import os

found = []
for number in range(3, 4096):
    try:
        found.append((number, os.readlink("/proc/self/fd/%d" % number), os.fstat(number).st_mode))
    except OSError:
        pass
print(found)
