"""The results of a training run: its record, its files and its predictions."""
