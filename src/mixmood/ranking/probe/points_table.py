"""The numbers of the map from probe to points. Written by `benchmarks.probe.fit`.

Fitted by maximum likelihood on 72 pools of 6 development tasks
(classes 0 to 4 of MNIST, FashionMNIST and CIFAR-10), 2 seeds, 60 labels.
"""

POINTS: dict[str, dict[str, float]] = {
    "mixmatch": {
        "offset": 0.1839,
        "slope": 0.392,
        "slope_share": 1.9,
        "spread": 0.3109,
        "factor": 0.8925,
        "factor_unrest": 0,
    },
    "pseudo-label": {
        "offset": -0.8582,
        "slope": 0.2406,
        "slope_share": 1.107,
        "spread": 0.2,
        "factor": 0.8524,
        "factor_unrest": 0,
    },
    "propagation": {
        "offset": 0.01841,
        "slope": 0.1855,
        "slope_share": 0.07953,
        "spread": 0.3384,
        "factor": 0,
        "factor_unrest": 0.3829,
    },
}
