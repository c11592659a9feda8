# Mounts, unmounts and changes roots, with the old calls and the new.
# want: exit 0
# want: stdout refused

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def attempt(label, action):
    pid = os.fork()
    if pid == 0:
        os._exit(1 if action() >= 0 else 0)
    if os.waitpid(pid, 0)[1]:
        print(label)


attempt("tmpfs", lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
attempt("proc", lambda: libc.mount(b"none", b"/tmp", b"proc", 0, None))
attempt("overlay", lambda: libc.mount(b"none", b"/tmp", b"overlay", 0, b"lowerdir=/etc:/usr"))
attempt("bind", lambda: libc.mount(b"/etc", b"/tmp", None, 4096, None))
attempt("remount", lambda: libc.mount(None, b"/", None, 32 | 4096, None))
attempt("private", lambda: libc.mount(None, b"/", None, 1 << 18 | 16384, None))
for target in (b"/", b"/proc", b"/tmp", b"/dev", b"/dev/shm", b"/usr", b"/etc"):
    attempt("umount " + target.decode(), lambda: libc.umount2(target, 2))
attempt("chroot", lambda: libc.chroot(b"/tmp"))
attempt("pivot_root", lambda: libc.syscall(41 if os.uname().machine == "aarch64" else 155, b"/tmp", b"/tmp"))
attempt("fsopen", lambda: libc.syscall(430, b"tmpfs", 0))
attempt("open_tree", lambda: libc.syscall(428, -100, b"/etc", 1))
attempt("mount_setattr", lambda: libc.syscall(442, -100, b"/", 0, ctypes.create_string_buffer(32), 32))
print("refused")
