"""Random changes that do not change the class, applied to whole batches."""
