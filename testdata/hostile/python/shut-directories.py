# Takes all rights from what it leaves, the working directory included.
# want: exit 0
# want: stdout made

import os

os.mkdir("shut")
open("shut/inner.csv", "w").write("a\n")
open("file.csv", "w").write("a\n")
os.chmod("file.csv", 0)
os.chmod("shut", 0)
os.chmod("/run/sandbox/artifacts", 0) if os.access("/run/sandbox/artifacts", os.W_OK) else None
os.chmod(".", 0)
print("made")
