"""Where images and splits come from."""
