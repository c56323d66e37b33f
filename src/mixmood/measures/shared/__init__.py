"""What several measures are made of: checks, histograms, tables of all pairs."""
