"""How well distances predict accuracies: correlations, regret, their intervals and chance."""
