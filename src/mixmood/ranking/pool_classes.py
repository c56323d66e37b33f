"""Which of the labelled classes the images of a pool look like."""

from collections.abc import Mapping

import numpy as np

from mixmood.core.records.ranking import LabelledSet
from mixmood.evidence.share import class_probabilities, class_shares
from mixmood.ranking.reading import Reading

MOST_LABELLED = 2000
"""Labelled images on which the classifier is trained; it bounds the time."""
MOST_CLASSES = 100
"""With more classes, the classifier takes longer than all of the ranking."""
MOSTLY, TIMES = 0.6, 2.0
"""A warning is given where a class has this share of a pool, and TIMES its labelled share."""


def pool_class_shares(
    labelled: Reading, pools: Mapping[str, Reading]
) -> dict[str, dict[str, float]] | None:
    """The share of each class in each pool, as predicted by a classifier.

    A logistic regression on the labelled images gives the probabilities. None without labels, or
    with a single class.
    """
    labels = labelled.pool.labels
    if labels is None or not 2 <= len(labels.names) <= MOST_CLASSES:
        return None
    codes = labels.codes[labelled.kept[:MOST_LABELLED]]
    found, sizes = np.unique(codes, return_counts=True)
    if len(found) < 2:
        return None
    rows = np.concatenate([pool.features for pool in pools.values()])
    chances = class_probabilities(labelled.features[:MOST_LABELLED], codes, rows)
    ends = np.cumsum([len(pool.features) for pool in pools.values()])
    shares = {}
    for name, own in zip(pools, np.split(chances, ends[:-1]), strict=True):
        values = np.zeros(len(labels.names))
        values[found] = class_shares(own, sizes / sizes.sum())
        shares[name] = dict(zip(labels.names, values.tolist(), strict=True))
    return shares


def one_class_warning(shares: Mapping[str, float], labelled: LabelledSet) -> str | None:
    """A warning where one class has most of a pool, and a much larger share than when labelled."""
    if not labelled.classes:
        return None
    name, share = max(shares.items(), key=lambda pair: pair[1])
    own = labelled.classes.get(name, 0) / max(sum(labelled.classes.values()), 1)
    if share < MOSTLY or share < TIMES * own:
        return None
    return (
        f"most of it ({share:.0%}) looks like the class '{name}', which has {own:.0%} of the "
        "labelled images: it can teach little about the other classes."
    )
