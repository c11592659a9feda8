# Stops itself and its children, so that only SIGKILL ends them.
# want: status timeout
# want: exit 124
# want: timeout 3
# want: seconds 10
# want: sleeps 7452

import os
import signal
import subprocess

child = subprocess.Popen(["sleep", "7452"])
child.send_signal(signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)
