"""Scores of single images and the useful share: how settings were chosen, and the evidence."""
