"""What a training run leaves behind."""
