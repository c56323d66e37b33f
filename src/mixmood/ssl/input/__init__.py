"""Loading pools as tensors for training."""
