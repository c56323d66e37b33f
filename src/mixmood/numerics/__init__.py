"""What the families on features share: logistic regression, neighbours, folds, calibration."""
