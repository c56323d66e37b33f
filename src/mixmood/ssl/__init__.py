"""Semi-supervised training on splits."""
