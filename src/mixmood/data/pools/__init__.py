"""Pools of every kind, opened without reading their images."""
