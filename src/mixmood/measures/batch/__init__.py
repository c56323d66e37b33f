"""One measure between many pairs of samples of the same rows, without starting anew each time."""
