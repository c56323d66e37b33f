"""Pools that are arrays: in memory, in NumPy files and in IDX files."""
