"""Images in, feature vectors out."""
