"""Images and map for the page of a ranking."""
