# Fills every directory it can write to.
# want: exit 0
# want: stdout limited
# want: seconds 90
# want: timeout 60
# want: needs disk limit

import os

message = "unlimited"
for directory in (os.getcwd(), "/tmp", "/dev/shm", os.path.expanduser("~"), "/run/sandbox/artifacts"):
    try:
        with open(directory + "/fill", "wb") as f:
            for _ in range(8192):
                f.write(b"x" * (1 << 20))
    except OSError:
        message = "limited"
    else:
        message = "unlimited"
        break
for directory in (os.getcwd(), "/tmp", "/dev/shm", os.path.expanduser("~"), "/run/sandbox/artifacts"):
    try:
        os.unlink(directory + "/fill")
    except OSError:
        pass
print(message)
