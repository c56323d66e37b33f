"""The draws of each pool, computed again only where more of its images were read."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.seeds import rng_for
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.statistics.distances import DrawnDistances, drawn_distances
from mixmood.ranking.statistics.draws import labelled_pairs, subsets
from mixmood.ranking.statistics.jackknife import N_DRAWS, leave_out


@dataclass(frozen=True)
class PoolTable:
    """The draws of one pool of `n_rows` images.

    Attributes:
        n_rows: Rows that the draws were taken from.
        inter: Distances to the labelled samples, shape (measures, draws).
        without: Inter minus intra without each group, shape (measures, draws, groups).
    """

    n_rows: int
    inter: Array
    without: Array


class DrawTables:
    """The tables that were computed so far, by pool.

    A pool is only ever read further, so a pool with as many rows as before has not changed.
    Between two rounds, only pools that were read further are measured again.
    """

    def __init__(self) -> None:
        """Begin without tables."""
        self._asked: tuple[object, ...] = ()
        self._of_pool: dict[str, PoolTable] = {}
        self._intra: Array = np.empty((0, 0))

    def update(
        self, labelled: Array, pools: Mapping[str, Array], plan: RankingPlan, jobs: int
    ) -> tuple[DrawnDistances, Array]:
        """The draws of all pools, and inter minus intra without each group of images.

        The second has the shape (measures, pools, draws, groups). All calls must be about the
        same sets, which may be read further between calls.
        """
        asked = (len(labelled), plan)
        if asked != self._asked:
            self._asked, self._of_pool = asked, {}
        grown = {name: pool for name, pool in pools.items() if not self._is_known(name, pool)}
        if grown:
            self._compute(labelled, grown, plan, jobs)
        found = [self._of_pool[name] for name in pools]
        inter = np.stack([one.inter for one in found], axis=1)
        return DrawnDistances(inter, self._intra), np.stack([one.without for one in found], axis=1)

    def _is_known(self, name: str, pool: Array) -> bool:
        return name in self._of_pool and self._of_pool[name].n_rows == len(pool)

    def _compute(
        self, labelled: Array, pools: Mapping[str, Array], plan: RankingPlan, jobs: int
    ) -> None:
        # The noise of drawing cannot be estimated from a few draws, so at least N_DRAWS are made.
        n_draws = max(plan.draws, N_DRAWS)
        pairs = labelled_pairs(
            len(labelled), plan.sample_size, n_draws, rng_for(plan.seed, "pairs"), plan.paper
        )
        rows = [
            subsets(len(pool), plan.sample_size, n_draws, rng_for(plan.seed, "subsets", name))
            for name, pool in pools.items()
        ]
        features = list(pools.values())
        drawn = drawn_distances(labelled, features, pairs, rows, plan.measures, plan.overflow, jobs)
        without = leave_out(
            labelled,
            features,
            pairs[:N_DRAWS],
            rows,
            plan.measures,
            rng_for(plan.seed, "groups"),
            [rng_for(plan.seed, "groups", name) for name in pools],
            plan.overflow,
            jobs,
        )
        self._intra = drawn.intra
        for k, (name, pool) in enumerate(pools.items()):
            self._of_pool[name] = PoolTable(len(pool), drawn.inter[:, k], without[:, k])
