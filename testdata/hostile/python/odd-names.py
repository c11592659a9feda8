# Names files with what terminals, JSON and tar trip over.
# want: exit 0
# want: stdout made
# want: artifacts 7

for name in ("new\nline.csv", "esc\x1b[2J.csv", "quote\"'.csv", "back\\slash.csv", "\u202egnp.csv", "-rf.csv"):
    open(name, "w").write("a,b\n1,2\n")
open(b"bad\xff.csv", "w").write("a,b\n1,2\n")
print("made")
