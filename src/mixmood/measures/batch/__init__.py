"""One measure between many pairs of samples of the same rows, with the common work done once."""
