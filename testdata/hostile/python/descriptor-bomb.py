# Opens files without end.
# want: exit 0
# want: stdout limited

import os

try:
    for _ in range(1_000_000):
        os.open("/dev/null", os.O_RDONLY)
    print("unlimited")
except OSError:
    print("limited")
