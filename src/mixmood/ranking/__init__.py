"""Order pools by gain or by distance, with the certainty of that order."""
