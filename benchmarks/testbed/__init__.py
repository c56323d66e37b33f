"""Results of the test beds: the best predictor of a pool's gain, and the paper's claims."""
