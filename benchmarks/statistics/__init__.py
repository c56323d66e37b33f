"""Whether p-values, intervals, early stops and training hold what they promise."""
