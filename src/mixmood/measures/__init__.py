"""Measures: the distance between two samples of feature vectors, as one number."""

from mixmood.measures.registry import MEASURES, Measure

__all__ = ["MEASURES", "Measure"]
