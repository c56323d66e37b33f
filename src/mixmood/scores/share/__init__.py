"""Mixture proportions: how much of a pool is foreign."""
