# Types into the terminal of whoever started it.
# want: exit 0
# want: stdout refused

import fcntl
import os
import termios

for name in (0, 1, 2, "/dev/tty", "/dev/console", "/dev/pts/0"):
    try:
        fd = name if isinstance(name, int) else os.open(name, os.O_RDWR | os.O_NOCTTY)
        for character in b"id\n":
            fcntl.ioctl(fd, termios.TIOCSTI, bytes([character]))
        print("typed into", name)
    except OSError:
        pass
try:
    parent, fd = os.openpty()
    fcntl.ioctl(fd, termios.TIOCSTI, b"x")
    print("typed into a terminal of its own")
except OSError:
    pass
print("refused")
