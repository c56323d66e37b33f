"""Data sets by name: embedded ones, and those of the paper, fetched and verified."""
