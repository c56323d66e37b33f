"""One module for each kind of pool."""
