# Leaves a tree ten thousand directories deep.
# want: exit 0
# want: stdout made
# want: seconds 60

import os

open("top.csv", "w").write("a,b\n1,2\n")
try:
    for number in range(10_000):
        os.mkdir("d" * 50)
        os.chdir("d" * 50)
    open("bottom.csv", "w").write("a,b\n")
except OSError:
    pass
print("made")
