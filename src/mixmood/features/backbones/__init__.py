"""Networks that turn images into feature vectors, by name or from a file."""
