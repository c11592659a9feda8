# Reads packages, one a line, and prints those that are not there: the line, a tab, and why.
for (line in readLines(file("stdin"))) {
  if (!nzchar(system.file(package = line))) cat(line, "\tit is not installed\n", sep = "")
}
