# Leaves a file that is huge and takes no room.
# want: exit 0
# want: stdout made
# want: seconds 20

import os

for size in (1 << 42, 1 << 35, 1 << 30, 1 << 20):
    try:
        with open("huge.csv", "wb") as f:
            f.truncate(size)
        break
    except OSError:
        pass
print("made")
