# Puts links and noise where the hooks put captured figures.
# want: exit 0
# want: stdout made
# want: images 0

import os

directory = "/run/sandbox/artifacts"
for number in range(5):
    try:
        os.symlink("/etc/shadow", "%s/%06d.png" % (directory, number))
    except OSError:
        pass
try:
    os.mkfifo(directory + "/000009.png")
    open(directory + "/000008.png", "wb").write(b"\x89PNG\r\n\x1a\n" + b"noise" * 1000)
    open(directory + "/index.json", "w").write("[" * 100000)
except OSError:
    pass
print("made")
