"""A filtered pool as list, text and page."""
