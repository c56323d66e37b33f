"""The numbers of the map from probe to points. Written by `benchmarks.probe.fit`; do not edit.

Fitted by maximum likelihood on development tasks.
"""

POINTS: dict[str, dict[str, float]] = {
    "mixmatch": {
        "offset": 0.3, "slope": 0.4, "slope_accuracy": 0.1, "spread": 1.0, "factor": 0.2,
        "factor_unrest": 0.1,
    },
    "pseudo-label": {
        "offset": 0.3, "slope": 0.5, "slope_accuracy": 0.1, "spread": 1.0, "factor": 0.2,
        "factor_unrest": 0.1,
    },
    "propagation": {
        "offset": 0.2, "slope": 0.1, "slope_accuracy": 0.0, "spread": 0.5, "factor": 0.1,
        "factor_unrest": 0.1,
    },
}  # fmt: skip
