"""Records, errors, seeds, cache and files, for every layer."""
