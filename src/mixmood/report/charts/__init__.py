"""Parts that every page and table is drawn from."""
