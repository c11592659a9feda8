# Leaves a pipe and a socket named like plots: reading them would never end.
# want: exit 0
# want: stdout made
# want: images 0
# want: seconds 15

import os
import socket

os.mkfifo("plot.png")
os.mkfifo("data.csv")
socket.socket(socket.AF_UNIX).bind("socket.png")
print("made")
