"""Two arrays of feature vectors in, one number out."""

from mixmood.measures.registry import MEASURES

__all__ = ["MEASURES"]
