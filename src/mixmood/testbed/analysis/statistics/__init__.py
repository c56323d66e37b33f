"""How well distances predict accuracies: correlations, regret, intervals and a test of chance."""
