"""What the page of a ranking shows beyond its numbers."""
