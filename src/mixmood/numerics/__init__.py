"""Numerics for heads, measures and scores: logistic regression, neighbours, folds, calibration."""
