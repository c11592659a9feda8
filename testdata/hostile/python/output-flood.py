# Writes without end.
# want: status output_limit timeout
# want: timeout 10
# want: seconds 30

import sys

while True:
    sys.stdout.write("x" * 65536)
    sys.stderr.write("y" * 65536)
