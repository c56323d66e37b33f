"""Two arrays of feature vectors in, one number out."""

from mixmood.measures.registry import MEASURES, Measure

__all__ = ["MEASURES", "Measure"]
