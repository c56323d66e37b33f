"""Hostile files for every reader: `python -m fuzz --help`."""
