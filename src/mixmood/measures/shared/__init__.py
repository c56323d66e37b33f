"""Parts of several measures: checks, histograms, tables of all pairs."""
