"""The grid of contaminated training runs, and its records."""
