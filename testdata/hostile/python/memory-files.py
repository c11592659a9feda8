# Takes memory without end, as files.
# want: status ok disk_limit memory_limit
# want: stdout-lacks unlimited
# want: env SANDBOX_MEMORY=256m

written = 0
message = "unlimited"
try:
    for number in range(64):
        with open("/dev/shm/%d" % number, "wb") as f:
            for _ in range(64):
                written += f.write(b"x" * (1 << 20))
except OSError:
    message = "limited"
print(message)
