cat("Hello from R!\n")
