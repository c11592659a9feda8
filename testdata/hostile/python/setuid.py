# Makes itself root through set-user-id programs and system calls.
# want: exit 0
# want: stdout 1000 1000

import os
import shutil
import subprocess

for call in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgroups([0])):
    try:
        call()
        print("a call succeeded")
    except OSError:
        pass
shutil.copy("/bin/sh", "/tmp/sh")
os.chmod("/tmp/sh", 0o6755)
print(*subprocess.check_output(["/tmp/sh", "-c", "id -u; id -g"], text=True).split())
