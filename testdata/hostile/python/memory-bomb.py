# Takes memory without end.
# want: status memory_limit
# want: exit 137
# want: env SANDBOX_MEMORY=128m
# want: needs memory limit

keep = []
while True:
    keep.append(b"x" * (1 << 20))
