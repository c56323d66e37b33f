"""A test bed as text, CSV, LaTeX, figures and page."""
