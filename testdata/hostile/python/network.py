# Looks for any way out: addresses, name servers, metadata services, raw sockets.
# want: exit 0
# want: stdout refused

import socket

for family, address in (
    (socket.AF_INET, ("1.1.1.1", 53)), (socket.AF_INET, ("169.254.169.254", 80)), (socket.AF_INET, ("10.0.0.1", 443)),
    (socket.AF_INET6, ("2606:4700:4700::1111", 53)), (socket.AF_INET, ("172.17.0.1", 2375)),
):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            with socket.socket(family, kind) as s:
                s.settimeout(1)
                s.connect(address)
                print("reached", address, kind)
        except OSError:
            pass
for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, 1), (17, socket.SOCK_RAW, 768), (40, socket.SOCK_STREAM, 0)):
    try:
        socket.socket(family, kind, protocol).close()
        print("socket", family, kind)
    except OSError:
        pass
try:
    print(socket.getaddrinfo("example.com", 80))
except OSError:
    pass
print("refused")
