"""Random changes that leave the class alone, on whole batches."""
