# Uses parts of the kernel with a history: io_uring, bpf, keyrings, userfaultfd, perf.
# want: exit 0
# want: stdout refused

import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)
memory = ctypes.create_string_buffer(4096)
past = (0, errno.EINVAL, errno.EFAULT, errno.ENOKEY, errno.ENOENT)  # these say that the call is there
arm = os.uname().machine == "aarch64"
for name, number, arguments in (
    ("io_uring_setup", 425, (8, memory)), ("bpf", 280 if arm else 321, (0, memory, 64)),
    ("add_key", 217 if arm else 248, (b"user", b"name", b"value", 5, -2)), ("keyctl", 219 if arm else 250, (0, -3, 0)),
    ("request_key", 218 if arm else 249, (b"user", b"name", None, 0)), ("userfaultfd", 282 if arm else 323, (1,)),
    ("perf_event_open", 241 if arm else 298, (memory, 0, -1, -1, 0)), ("fanotify_init", 262 if arm else 300, (0, 0)),
    ("open_by_handle_at", 265 if arm else 304, (-100, memory, 0)), ("kexec_load", 104 if arm else 246, (0, 0, None, 0)),
    ("init_module", 105 if arm else 175, (memory, 16, b"")), ("process_vm_writev", 271 if arm else 311, (1, memory, 1, memory, 1, 0)),
):
    ctypes.set_errno(0)
    result = libc.syscall(number, *arguments)
    if result >= 0 or ctypes.get_errno() in past:
        print(name, result, errno.errorcode.get(ctypes.get_errno()))
print("refused")
