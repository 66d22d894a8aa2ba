sigma <- 1
