plot(mtcars$wt, mtcars$mpg, xlab = "weight", ylab = "miles per gallon", pch = 19)
abline(lm(mpg ~ wt, data = mtcars), col = "red")
legend("topright", legend = "linear fit", col = "red", lty = 1)
