"""The numbers of the map from probe to points. Written by `benchmarks.probe.fit`.

Fitted by maximum likelihood on 472 pools of 18 development tasks
(from classes 0 to 4 of MNIST, FashionMNIST and CIFAR-10), 3 seeds, 20, 60, 150 labels.
Errors are such that intervals hold 95 % of the pools of each pack when it is left out.
"""

POINTS: dict[str, dict[str, float]] = {
    "mixmatch": {
        "offset": -0.2053,
        "share": 1.503,
        "room": -3.63,
        "both": 2.025,
        "slope": 0.2742,
        "spread": 0.6772,
        "factor": 1.087,
        "common": 0.3045,
        "most_wrong": 0.6417,
    },
    "pseudo-label": {
        "offset": 0.01632,
        "share": 0.5504,
        "room": -1.12,
        "both": 0.5338,
        "slope": 0.2138,
        "spread": 1.329,
        "factor": 0.6123,
        "common": 0.8074,
        "most_wrong": 0.5917,
    },
    "propagation": {
        "offset": 0.1871,
        "share": 0.4782,
        "room": -0.5133,
        "both": 0.4308,
        "slope": 0.0542,
        "spread": 0.4949,
        "factor": 0.5116,
        "common": 0.6939,
        "most_wrong": 0.5917,
    },
}
