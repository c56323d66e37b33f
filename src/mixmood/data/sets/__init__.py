"""Named data sets: embedded ones, and the paper's, fetched and verified."""
