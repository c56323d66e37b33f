"""What the test beds say: which predictor of a pool's gain is best, and the paper's claims."""
