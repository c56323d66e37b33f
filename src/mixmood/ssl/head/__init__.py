"""Training a head (a classifier on frozen features) on images: its record and file; no torch."""
