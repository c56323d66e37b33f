"""Pools of named files: folders, lists of paths, folders behind a URL."""
