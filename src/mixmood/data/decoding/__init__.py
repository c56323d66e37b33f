"""Stored images to RGB pixels."""
