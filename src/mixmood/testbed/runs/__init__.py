"""Runs, their records and the folder that keeps them."""
