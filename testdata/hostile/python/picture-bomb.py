# Writes a small PNG that says it is 60000 pixels wide and high.
# want: exit 0
# want: stdout made
# want: seconds 20

import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


header = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
body = zlib.compress(b"\0" * (1 << 24), 9)
open("bomb.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b""))
print("made")
