# Adds a network interface and reads the audit log through netlink.
# want: exit 0
# want: stdout refused

import socket
import struct

for protocol in (0, 9, 12, 15):  # route, audit, netfilter, uevent
    try:
        s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        s.settimeout(1)
        s.bind((0, 0))
        if protocol == 0:
            # RTM_NEWLINK, a dummy interface: header, ifinfomsg, IFLA_LINKINFO {IFLA_INFO_KIND "dummy"}
            kind = struct.pack("HH", 4 + 6, 1) + b"dummy\0\0\0"
            body = struct.pack("BxHiII", 0, 0, 0, 0, 0) + struct.pack("HH", 4 + len(kind), 18) + kind
            s.send(struct.pack("IHHII", 16 + len(body), 16, 5 | 0x600, 1, 0) + body)
            answer = s.recv(4096)
            if struct.unpack("i", answer[16:20])[0] == 0:
                print("made an interface")
        if protocol == 9:
            s.send(struct.pack("IHHII", 16, 1000, 1, 1, 0))
            if struct.unpack("IHHII", s.recv(4096)[:16])[1] == 1000:
                print("reads audit status")
    except OSError:
        pass
print("refused")
