"""Every measure by its name, and all of them at once on the same samples."""

from collections.abc import Callable, Sequence

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.suggest import unknown_name
from mixmood.measures.checks import check_pair
from mixmood.measures.cosine import cosine_between, cosine_distance
from mixmood.measures.histogram import Bins, Overflow
from mixmood.measures.js import js_between, js_distance
from mixmood.measures.nearest import l1_distance, l2_distance

Measure = Callable[[Array, Array], float]

N_BINS = 15
"""Bins over the range of the first sample, as in the paper."""

MEASURES: dict[str, Measure] = {
    "l1": l1_distance,
    "l2": l2_distance,
    "js": js_distance,
    "cosine": cosine_distance,
}

DEFAULT = "cosine"

# These compare the same two histograms, so that a set of measures bins every sample only once.
BETWEEN_HISTOGRAMS: dict[str, Callable[[Array, Array], Array]] = {
    "js": js_between,
    "cosine": cosine_between,
}


def check_measures(names: Sequence[str]) -> tuple[str, ...]:
    """The names in order and without repetition, `all` spelt out; an unknown one is refused.

    The first one ranks, and that of `all` is the one that ranks where none is asked for.
    """
    wanted: list[str] = []
    for name in names:
        if name != "all" and name not in MEASURES:
            raise unknown_name("measure", name, [*MEASURES, "all"])
        wanted.extend([DEFAULT, *MEASURES] if name == "all" else [name])
    return tuple(dict.fromkeys(wanted))


def compare(
    x: Array, others: Sequence[Array], names: Sequence[str], overflow: Overflow = "count"
) -> Array:
    """Each measure from x to each other sample, shape (len(names), len(others)).

    Equals `MEASURES[name](x, other)` entry by entry; x is binned once for all of them.
    """
    for y in others:
        check_pair(x, y)
    table = np.empty((len(names), len(others)))
    needs_histograms = any(name in BETWEEN_HISTOGRAMS for name in names)
    if needs_histograms:
        edges = Bins.over(x, N_BINS)
        shares_x = edges.shares(x, overflow)
    for column, y in enumerate(others):
        if needs_histograms:
            shares_y = edges.shares(y, overflow)
        for row, name in enumerate(names):
            between = BETWEEN_HISTOGRAMS.get(name)
            table[row, column] = between(shares_x, shares_y) if between else MEASURES[name](x, y)
    return table
