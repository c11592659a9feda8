print(aggregate(mpg ~ cyl, data = mtcars, FUN = mean))

fit <- lm(mpg ~ wt, data = mtcars)
print(round(coef(fit), 2))
