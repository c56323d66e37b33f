"""Pools of equal rows: arrays in memory, NumPy files and IDX files."""
