# Names a directory like a plot.
# want: exit 0
# want: stdout made
# want: images 0

import os

os.makedirs("a.png/b.csv/c.svg")
os.mkdir(".png")
print("made")
