"""Heads on frozen features, compared on real tasks: how settings were chosen, and the evidence."""
