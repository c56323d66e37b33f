"""The time of each measure including draws, intervals and permutations."""

import statistics

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measuring.row import Effort, Row, interleaved
from mixmood.measures.registry import MEASURES
from mixmood.ranking.distance import score
from mixmood.ranking.plan import RankingPlan

N_LABELLED, N_POOL, WIDTH = 160, 2400, 1280
GOAL_S = 0.5


def each_measure(effort: Effort) -> list[Row]:
    """One pool, 30 draws of 80 of 1280 features, 20 left-out groups, 399 permutations, one core."""
    rng = np.random.default_rng(0)
    labelled = rng.gamma(0.5, size=(N_LABELLED, WIDTH)).astype(np.float32)
    pools = {"pool": rng.gamma(0.6, size=(N_POOL, WIDTH)).astype(np.float32)}

    def scored(name):
        return lambda: score(labelled, pools, RankingPlan(measures=(name,)))

    with threadpool_limits(1):
        times = interleaved({name: scored(name) for name in MEASURES}, effort.rounds(5))
    return [
        Row(
            f"{name}: 30 draws of 80, intervals and p-values, one pool, one core",
            "the clock",
            statistics.median(found),
            min(found),
            max(found),
            f"{statistics.median(found):.2f} s",
            at_most=GOAL_S,
            unit=" s",
        )
        for name, found in times.items()
    ]
