# Leaves a hundred thousand files named like plots.
# want: exit 0
# want: stdout made
# want: images 0
# want: seconds 60

try:
    for number in range(100_000):
        open("%06d.png" % number, "w").close()
except OSError:
    pass
print("made")
