"""What a pool would gain: the labelled images are cross-validated with it and without it."""
