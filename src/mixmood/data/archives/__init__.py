"""Pools in zip and tar archives, with an index for random access."""
