"""Two arrays of feature vectors in, one number out."""
