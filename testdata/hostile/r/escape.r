# Reads secrets and starts programs from R.
# want: exit 0
# want: stdout refused

for (name in c("/etc/shadow", "/proc/1/environ", "/root/.bashrc")) {
  read <- suppressWarnings(tryCatch(readLines(name, n = 1), error = function(e) character()))
  if (length(read) > 0) cat("read", name, "\n")
}
if (system("id -u", intern = TRUE) == "0") cat("root\n")
invisible(suppressWarnings(file.symlink("/etc/shadow", "plot.png")))
cat("refused\n")
