# Makes empty files without end.
# want: status ok disk_limit memory_limit
# want: stdout-lacks unlimited
# want: seconds 90
# want: timeout 60

message = "unlimited"
try:
    for number in range(2_000_000):
        open("/tmp/%d" % number, "w").close()
except OSError:
    message = "limited"
print(message)
