mu <- c(-3, 3)
tau <- 1
".RNG.name" <- "base::Mersenne-Twister"
".RNG.seed" <- 3
