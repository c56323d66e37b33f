"""Decodes stored images to RGB pixels."""
