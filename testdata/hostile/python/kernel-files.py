# Writes to files of the kernel that run programs on the host.
# want: exit 0
# want: stdout refused

import os

for name in (
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug", "/sys/kernel/uevent_helper",
    "/proc/sys/fs/binfmt_misc/register", "/proc/sysrq-trigger", "/proc/sys/kernel/randomize_va_space", "/proc/sys/vm/overcommit_memory",
    "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max", "/proc/1/oom_score_adj",
    "/sys/kernel/security/apparmor/profiles", "/sys/kernel/debug/sched/features", "/dev/kmsg", "/dev/mem", "/dev/port", "/dev/kvm",
):
    try:
        os.close(os.open(name, os.O_WRONLY))
        print("opened", name)
    except OSError:
        pass
for name in ("/proc/kcore", "/proc/kmsg", "/dev/mem", "/sys/kernel/security"):
    try:
        if os.listdir(name) if os.path.isdir(name) else open(name, "rb").read(1):
            print("read", name)
    except OSError:
        pass
print("refused")
