# Connects to every abstract socket it can see.
# want: exit 0
# want: stdout []

import socket

found = []
try:
    for line in open("/proc/net/unix"):
        name = line.split()[-1]
        if name.startswith("@"):
            found.append(name)
except OSError:
    pass
for name in ("/org/freedesktop/systemd1/notify", "/tmp/.X11-unix/X0", "/containerd-shim/", "/tmp/dbus-"):
    try:
        socket.socket(socket.AF_UNIX).connect("\0" + name)
        found.append(name)
    except OSError:
        pass
print(found)
