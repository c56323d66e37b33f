"""Scores: one number for each image, how similar it is to the labelled images."""

from mixmood.scores.registry import SCORES

__all__ = ["SCORES"]
