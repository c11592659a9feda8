# Gives files the names of pictures that they are not.
# want: exit 0
# want: stdout made
# want: images 0

open("text.png", "w").write("not a picture")
open("half.png", "wb").write(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0")
open("empty.jpg", "wb").close()
open("script.gif", "w").write("GIF89a<script>alert(1)</script>")
print("made")
