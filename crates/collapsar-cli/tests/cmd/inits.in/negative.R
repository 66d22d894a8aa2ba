tau <- -1
