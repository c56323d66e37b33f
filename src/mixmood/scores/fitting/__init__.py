"""The rows and folds that scores are fitted to, and the fits."""
