# Starts threads without end.
# want: exit 0
# want: stdout limited

import threading

stop = threading.Event()
try:
    for _ in range(100_000):
        threading.Thread(target=stop.wait, daemon=True).start()
    print("unlimited")
except (RuntimeError, MemoryError):
    print("limited")
stop.set()
