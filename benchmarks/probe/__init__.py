"""Does the probe predict what a pool gains? Cases, the fit of its map, and the evidence."""
