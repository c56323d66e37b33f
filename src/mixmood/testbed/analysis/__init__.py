"""From records to the agreement between accuracies and distances."""
