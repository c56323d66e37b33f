"""The page of a trained head."""
