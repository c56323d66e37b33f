"""One image in, one number out: how much the image is like the labelled ones."""

from mixmood.scores.registry import SCORES

__all__ = ["SCORES"]
