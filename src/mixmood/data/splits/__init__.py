"""Splits with controlled contamination: labelled, unlabelled, validation and test images."""
