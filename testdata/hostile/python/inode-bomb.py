# Makes empty files without end.
# want: exit 0
# want: stdout limited
# want: seconds 90
# want: timeout 60

message = "unlimited"
try:
    for number in range(5_000_000):
        open("/tmp/%d" % number, "w").close()
except OSError:
    message = "limited"
print(message)
