"""The gain of a pool: the labelled images are cross-validated with the pool and without it."""
