# Reads what the host keeps to itself.
# want: exit 0
# want: stdout nothing
# want: env SECRET_OF_THE_SERVER=canary-90417

import os

for name in (
    "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root/.ssh/id_rsa", "/root/.bash_history", "/root/.aws/credentials",
    "/etc/ssl/private", "/etc/ssh/ssh_host_rsa_key", "/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
    "/var/lib/docker", "/var/run/secrets/kubernetes.io/serviceaccount/token", "/run/systemd/private", "/var/log/auth.log",
    "/proc/kallsyms", "/boot", "/sys/firmware/efi", "/sys/class/dmi/id/product_uuid", "/etc/machine-id",
):
    try:
        if os.path.isdir(name):
            if os.listdir(name):
                print("lists", name)
        elif name == "/proc/kallsyms":
            if any(line.split()[0].strip("0") for line in open(name)):
                print("sees addresses of the kernel")
        elif open(name, "rb").read(1):
            print("reads", name)
    except OSError:
        pass
if "canary-90417" in str(os.environ):
    print("its own environment has the secret")
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if b"canary-90417" in open("/proc/%s/environ" % pid, "rb").read():
            print("the environment of", pid, "has the secret")
    except OSError:
        pass
print("nothing")
