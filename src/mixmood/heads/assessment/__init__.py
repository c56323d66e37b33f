"""How good a head is on held-out images: accuracy, comparison, nested plan, threshold."""
