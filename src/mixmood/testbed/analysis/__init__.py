"""Records in, agreement between accuracies and distances out."""
