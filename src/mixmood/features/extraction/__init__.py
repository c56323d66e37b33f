"""From a pool and indices to features: read, prepare, embed."""
