# Forks without end.
# want: status timeout process_limit
# want: timeout 4
# want: seconds 20

import os

while True:
    try:
        os.fork()
    except OSError:
        pass
