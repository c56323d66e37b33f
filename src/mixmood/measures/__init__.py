"""Two arrays of feature vectors in, one number out."""

from mixmood.measures.table import MEASURES

__all__ = ["MEASURES"]
