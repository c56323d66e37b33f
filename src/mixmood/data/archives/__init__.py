"""Pools in zip and tar archives, indexed once and read at any place."""
