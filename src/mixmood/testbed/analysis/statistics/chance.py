"""A permutation test: could the best measure have predicted accuracy so well by chance?

Cells of one source with different percentages, numbers of labels or tasks are not independent.
Sources are therefore permuted in all of their cells at once, and so are percentages. The lowest
correlation over all measures is compared with the lowest observed one, which accounts for the
choice of the best measure among several.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.seeds import rng_for
from mixmood.testbed.analysis.statistics.groups import Group, groups
from mixmood.testbed.runs.record import Choice, RunRecord

MOST_ARRANGEMENTS = 5000
"""If there are more arrangements, a random sample of this size is used."""
Moves = dict[Any, Any]
"""For each source (or percentage), the one whose accuracy it gets."""


@dataclass(frozen=True)
class Chance:
    """P-values of the lowest mean correlation over all measures.

    They are shares of all arrangements, including the observed one. `p_lower` is the share in
    which the lowest mean correlation is at most the observed one, `p_higher` at least.
    """

    p_lower: float
    p_higher: float
    n_arrangements: int


def chance_of_correlation(
    records: Sequence[RunRecord], choice: Choice, seed: int = 0
) -> Chance | None:
    """P-values of the lowest mean correlation; None if no correlation is defined."""
    found = groups(records)
    moves = list(_moves(found, rng_for(seed, "chance")))
    values = [_correlations(group, choice, moves) for group in found]
    measures = dict.fromkeys(name for by_name in values for name in by_name)
    if not measures:
        return None
    means = [np.mean([each[name] for each in values if name in each], axis=0) for name in measures]
    lowest = np.min(means, axis=0)
    tolerance = 1e-9  # Sums in another order differ in their last digits.
    return Chance(
        float(np.mean(lowest <= lowest[0] + tolerance)),
        float(np.mean(lowest >= lowest[0] - tolerance)),
        len(moves),
    )


def _moves(found: Sequence[Group], rng: np.random.Generator) -> Iterator[tuple[Moves, Moves]]:
    """Permutations of sources and percentages: first the identity, then all others or a sample."""
    source_blocks = _exchangeable(found, 0)
    blocks = [*source_blocks, *_exchangeable(found, 1)]
    n_sources = len(source_blocks)
    n_all = math.prod(math.factorial(len(block)) for block in blocks)
    orders: Iterator[tuple[Sequence[Any], ...]]
    if n_all <= MOST_ARRANGEMENTS:
        orders = product(*(permutations(block) for block in blocks))
    else:
        drawn = (
            tuple([block[place] for place in rng.permutation(len(block))] for block in blocks)
            for _ in range(MOST_ARRANGEMENTS - 1)
        )
        orders = iter([tuple(blocks), *drawn])
    for order in orders:
        pairs = [
            dict(zip(block, new, strict=True)) for block, new in zip(blocks, order, strict=True)
        ]
        sources = {old: new for part in pairs[:n_sources] for old, new in part.items()}
        percents = {old: new for part in pairs[n_sources:] for old, new in part.items()}
        yield sources, percents


def _exchangeable(found: Sequence[Group], side: int) -> list[list[Any]]:
    """Sets of sources (side 0) or percentages (1) that occur in the same cells."""
    places: dict[Any, set[object]] = defaultdict(set)
    for group in found:
        for cell in group.cells:
            places[cell[side]].add((group.key, cell[1 - side]))
    blocks: dict[frozenset[object], list[Any]] = defaultdict(list)
    for value, own in places.items():
        blocks[frozenset(own)].append(value)
    return list(blocks.values())


def _correlations(
    group: Group, choice: Choice, moves: Sequence[tuple[Moves, Moves]]
) -> dict[str, Array]:
    """Pearson's r of every measure that has one, for each arrangement."""
    place = {cell: index for index, cell in enumerate(group.cells)}
    order = [
        [place[sources[source], percents[percent]] for source, percent in group.cells]
        for sources, percents in moves
    ]
    made = {}
    for measure in group.measures:
        x, y = (values.mean(axis=0) for values in group.arrays(measure, choice))
        if np.ptp(x) > 0 and np.ptp(y) > 0:
            x, y = ((values - values.mean()) / values.std() for values in (x, y))
            made[measure] = np.asarray(y[np.array(order)] @ x / len(x))
    return made
