"""Distances, p-values and intervals: arrays in, values out."""
