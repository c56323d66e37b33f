"""Which images of a pool to keep, from scores and features."""
