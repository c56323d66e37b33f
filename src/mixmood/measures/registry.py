"""Every measure by its name, with its fast paths."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from mixmood.core.arrays import Array, Mask
from mixmood.core.errors import OptionError
from mixmood.core.options import DEFAULT_MEASURE
from mixmood.core.text import unknown_name
from mixmood.measures.classifier import classifier_between_subsets, classifier_distance
from mixmood.measures.cosine import cosine_between, cosine_distance
from mixmood.measures.energy import energy_between_subsets, energy_distance
from mixmood.measures.frechet import frechet_between_subsets, frechet_distance
from mixmood.measures.histogram import N_BINS, Bins, Overflow
from mixmood.measures.js import js_between, js_distance
from mixmood.measures.kernel import kernel_between_subsets, kernel_distance
from mixmood.measures.minkowski import l1_distance, l2_distance, nearest_between
from mixmood.measures.pairs import Table, check_pair
from mixmood.measures.sliced_wasserstein import (
    sliced_wasserstein_between_subsets,
    sliced_wasserstein_distance,
)
from mixmood.measures.typicality import typicality_between_subsets, typicality_distance


@dataclass(frozen=True)
class Measure:
    """A function of two samples, larger if farther apart, and fast paths with the same values."""

    function: Callable[[Array, Array], float]
    between_histograms: Callable[[Array, Array], Array] | None = None
    """The distance of shares of shape (..., d, bins): several measures share histograms."""
    between_subsets: Callable[[Array, Mask, Mask], Table] | None = None
    """The distance between k pairs of subsets of the same rows: (N, d), (k, N), (k, N) to (k,)."""
    min_rows: int = 1  # the smallest number of rows of each sample

    def __call__(self, x: Array, y: Array) -> float:
        """The distance from x, shape (n, d), to y, shape (m, d)."""
        return self.function(x, y)

    def on_subsets(self, rows: Array, first: Mask, second: Mask) -> Array:
        """The distance between k pairs of subsets of the same rows, shape (k,)."""
        if self.between_subsets is not None:
            return self.between_subsets(rows, first, second)
        pairs = zip(first, second, strict=True)
        return np.array([self.function(rows[in_x], rows[in_y]) for in_x, in_y in pairs])


MEASURES: dict[str, Measure] = {
    "l1": Measure(l1_distance, between_subsets=partial(nearest_between, "cityblock")),
    "l2": Measure(l2_distance, between_subsets=partial(nearest_between, "euclidean")),
    "js": Measure(js_distance, between_histograms=js_between),
    "cosine": Measure(cosine_distance, between_histograms=cosine_between),
    "frechet": Measure(frechet_distance, between_subsets=frechet_between_subsets),
    "kernel": Measure(kernel_distance, between_subsets=kernel_between_subsets, min_rows=2),
    "energy": Measure(energy_distance, between_subsets=energy_between_subsets),
    "sliced-wasserstein": Measure(
        sliced_wasserstein_distance, between_subsets=sliced_wasserstein_between_subsets
    ),
    "classifier": Measure(
        classifier_distance, between_subsets=classifier_between_subsets, min_rows=2
    ),
    "typicality": Measure(typicality_distance, between_subsets=typicality_between_subsets),
}

PAPER = ("l1", "l2", "js", "cosine")  # the paper's measures, in its order


def check_measures(names: Sequence[str]) -> tuple[str, ...]:
    """The names in order without repetitions; `all` is all, the default first; refuse others."""
    wanted: list[str] = []
    for name in names:
        if name != "all" and name not in MEASURES:
            raise unknown_name("measure", name, [*MEASURES, "all"])
        wanted.extend([DEFAULT_MEASURE, *MEASURES] if name == "all" else [name])
    return tuple(dict.fromkeys(wanted))


def check_sample_size(sample_size: int, names: Sequence[str]) -> None:
    """Refuse samples that are too small for a measure."""
    for name in names:
        if sample_size < MEASURES[name].min_rows:
            raise OptionError(
                f"The measure '{name}' needs samples of at least {MEASURES[name].min_rows} images; "
                f"sample_size is {sample_size}. Use larger samples or another measure."
            )


def compare(
    x: Array, others: Sequence[Array], names: Sequence[str], overflow: Overflow = "count"
) -> Array:
    """`MEASURES[name](x, other)` for all names and others, (names, others); x is binned once."""
    for y in others:
        check_pair(x, y)
    measures, shares = [MEASURES[name] for name in names], list[Array]()
    if any(measure.between_histograms for measure in measures):
        edges = Bins.over(x, N_BINS)
        shares = [edges.shares(rows, overflow) for rows in (x, *others)]
    table = np.empty((len(names), len(others)))
    for row, measure in enumerate(measures):
        between = measure.between_histograms
        for column, y in enumerate(others):
            found = between(shares[0], shares[column + 1]) if between else measure(x, y)
            table[row, column] = found
    return table
