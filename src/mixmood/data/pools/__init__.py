"""What a user may call a pool, opened without reading its images."""
