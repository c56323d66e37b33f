"""The numbers of the map from probe to points. Written by `benchmarks.probe.fit`.

Fitted by maximum likelihood on 351 pools of 6 development tasks
(classes 0 to 4 of MNIST, FashionMNIST and CIFAR-10), 3 seeds, 20, 60, 150 labels.
"""

POINTS: dict[str, dict[str, float]] = {
    "mixmatch": {
        "offset": -0.02186,
        "share": 0.9817,
        "room": -5.172,
        "both": 8.833,
        "slope": 0.3116,
        "spread": 0.3,
        "factor": 0.8915,
        "common": 0.3133,
        "most_wrong": 0.375,
    },
    "pseudo-label": {
        "offset": -0.2938,
        "share": 0.4416,
        "room": 1.198,
        "both": 2.243,
        "slope": 0.1514,
        "spread": 0.3096,
        "factor": 0.5739,
        "common": 0.8042,
        "most_wrong": 0.3333,
    },
    "propagation": {
        "offset": 0.1006,
        "share": 0.2524,
        "room": 0.09502,
        "both": 3.09,
        "slope": 0,
        "spread": 0.3,
        "factor": 0.3343,
        "common": 0.6826,
        "most_wrong": 0.3333,
    },
}
