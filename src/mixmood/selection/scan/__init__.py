"""Scoring every image of a pool of any size, in parts that survive a kill."""
