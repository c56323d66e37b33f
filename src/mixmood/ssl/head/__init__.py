"""A classifier on frozen features: from images to a head, its record and its file; no torch."""
