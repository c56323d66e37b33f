"""Does the probe predict the gain of a pool? Cases, the fit of its formula, and the evidence."""
