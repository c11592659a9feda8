# Overwrites the executable of the supervisor and of itself (CVE-2019-5736).
# want: exit 0
# want: stdout refused

import os


def attempt(label, action):
    try:
        result = action()
    except OSError:
        return
    print(label, "gave", result)


attempt("supervisor", lambda: os.open("/proc/1/exe", os.O_WRONLY | os.O_TRUNC))
attempt("interpreter", lambda: os.open("/proc/self/exe", os.O_RDWR))
attempt("interpreter, by path", lambda: os.open(os.path.realpath("/proc/self/exe"), os.O_WRONLY))
print("refused")
