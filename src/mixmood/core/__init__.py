"""Records, errors, seeds, cache: what every layer may use."""
