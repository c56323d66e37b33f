"""Semi-supervised algorithms by name, and their losses."""
