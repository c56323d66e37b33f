"""Does a ranking that stops early find the same winner?"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.material import pack
from benchmarks.row import Effort, Row
from mixmood.core.cores import checked_jobs
from mixmood.core.progress import Silent
from mixmood.core.seeds import rng_for
from mixmood.data.arrays.array_pools import FeatureArray, ImageArray
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.extraction.extract import extract
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.reading import Reading
from mixmood.ranking.rounds import read_in_rounds
from mixmood.ranking.statistics.score import measure

TASKS = ("cifar10", "mnist", "fashion_mnist", "svhn")
OTHERS = ("tiny_imagenet", "fashion_product")
N_LABELLED = 150
UNTIL = 0.99
KNOWN: dict[str, tuple[np.ndarray, np.ndarray]] = {}
"""Features and labels of each pack."""


def stopping(effort: Effort) -> list[Row]:
    """`rank --until 0.99` against the full run over 100 seeds, on real images."""
    n_seeds = effort.images(100, least=4)
    known = {name: features_of(name, effort.images(3000, least=600)) for name in TASKS + OTHERS}
    # The features go to each process once, not with every seed.
    with ProcessPoolExecutor(checked_jobs(None), initializer=KNOWN.update, initargs=(known,)) as of:
        outcomes = list(of.map(outcome, range(n_seeds)))
    same = [100 * is_same for is_same, _ in outcomes]
    saved = sorted(100 * share for _, share in outcomes)
    agreed = float(np.mean(same))
    return [
        Row(
            f"rank --until {UNTIL}: same winner as the full run, percent of {n_seeds} seeds",
            "the full run of 30 draws",
            agreed,
            agreed,
            agreed,
            f"{sum(same) / 100:.0f} of {n_seeds}",
            at_least=99,
            unit=" %",
            note=f"{N_LABELLED} labelled images of five random classes of one of {len(TASKS)} "
            "packs; pools: the same classes, the other five, and the five other packs. Images of "
            f"pools saved: median {np.median(saved):.0f} %, from {saved[0]:.0f} to "
            f"{saved[-1]:.0f} %.",
        )
    ]


def features_of(name: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of at most so many images of a pack, chosen at random."""
    images, labels = pack(name)
    chosen = rng_for(0, "benchmark", name).permutation(len(images))[:most]
    found = extract(ImageArray(images, name), chosen, load_backbone())
    return found.features, labels[found.kept]


def outcome(seed: int) -> tuple[bool, float]:
    """Whether the winner is the same with one seed, and the share of images saved."""
    task = TASKS[seed % len(TASKS)]
    rng = rng_for(seed, "benchmark", "split")
    features, labels = KNOWN[task]
    is_own = np.isin(labels, rng.permutation(10)[:5])
    own = rng.permutation(np.flatnonzero(is_own))
    pools = {"same classes": features[own[N_LABELLED:]], "other classes": features[~is_own]}
    pools |= {name: rows for name, (rows, _) in KNOWN.items() if name != task}
    labelled = features[own[:N_LABELLED]]
    with threadpool_limits(1):
        full, n_full = winner(labelled, pools, seed, until=None)
        early, n_early = winner(labelled, pools, seed, until=UNTIL)
    return early == full, 1 - n_early / n_full


def winner(labelled, pools, seed: int, until: float | None) -> tuple[str, int]:
    """The nearest pool and how many images of the pools were read.

    This is what `rank` does, without p-values and intervals, which do not move the order.
    """

    def reading(rows, name, most):
        return Reading(FeatureArray(rows, name), most, seed, None, None, None, Silent())

    plan = RankingPlan(seed=seed)
    base = reading(labelled, "labelled", 2 * plan.sample_size * plan.draws)
    base.grow(2 * plan.sample_size)
    plan = plan.fitted(len(base.features))
    most = plan.sample_size * plan.draws
    readings = {name: reading(rows, name, most) for name, rows in pools.items()}
    n_draws = read_in_rounds(base, readings, plan, until)
    rows = {name: one.features for name, one in readings.items()}
    _, certainty = measure(base.features, rows, replace(plan, n_draws=n_draws))
    return list(pools)[certainty.distances[0].argmin()], sum(map(len, rows.values()))
