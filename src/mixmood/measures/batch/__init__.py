"""Measures between many pairs of samples of the same rows; common work is done once."""
