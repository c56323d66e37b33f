"""A ranking as text, CSV and page."""
