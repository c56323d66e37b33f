"""Does a ranking that stops early find the same winner?"""

import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

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
    """`rank`, which stops early, against the full reading over 100 seeds, on real images."""
    n_seeds = effort.images(100, least=4)
    known, image_s = {}, []
    for name in TASKS + OTHERS:
        start = time.process_time()
        known[name] = features_of(name, effort.images(3000, least=600))
        image_s.append((time.process_time() - start) / len(known[name][0]))
    # The features go to each process once, not with every seed.
    with ProcessPoolExecutor(checked_jobs(None), initializer=KNOWN.update, initargs=(known,)) as of:
        outcomes = list(of.map(outcome, range(n_seeds)))
    return rows(outcomes, float(np.median(image_s)))


def rows(outcomes: "list[Outcome]", image_s: float) -> list[Row]:
    """What all seeds say; `image_s` is the processor time of one image on its way to features."""
    n_seeds = len(outcomes)
    saved = sorted(100 * (1 - one.n_early / one.n_full) for one in outcomes)
    ratios = sorted(
        (one.n_early * image_s + one.early_s) / (one.n_full * image_s + one.full_s)
        for one in outcomes
    )
    n_same = sum(one.is_same for one in outcomes)
    note = (
        f"{N_LABELLED} labelled images of five random classes of one of {len(TASKS)} packs; pools: "
        "the same classes, the other five, and the five other packs."
    )
    return [
        Row(
            f"rank, stopping at {UNTIL}: same winner as the full reading, percent of {n_seeds} "
            "seeds",
            "the full reading of 30 draws",
            *[100 * n_same / n_seeds] * 3,
            f"{n_same} of {n_seeds}",
            at_least=99,
            unit=" %",
            note=f"{note} Images of pools saved: median {np.median(saved):.0f} %, from "
            f"{saved[0]:.0f} to {saved[-1]:.0f} %.",
        ),
        Row(
            f"rank, stopping at {UNTIL}: time of a first run by that of the full reading, median",
            "the full reading of 30 draws",
            float(np.median(ratios)),
            ratios[0],
            ratios[-1],
            f"{image_s * 1000:.1f} ms an image",
            at_most=0.4,
            note=f"{note} Processor time: images read, at the measured time of an image, and the "
            "statistics.",
        ),
    ]


@dataclass(frozen=True)
class Outcome:
    """One seed: whether the winner is the same, images read and seconds of the statistics."""

    is_same: bool
    n_early: int
    n_full: int
    early_s: float
    full_s: float


def features_of(name: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of at most so many images of a pack, chosen at random."""
    images, labels = pack(name)
    chosen = rng_for(0, "benchmark", name).permutation(len(images))[:most]
    found = extract(ImageArray(images, name), chosen, load_backbone())
    return found.features, labels[found.kept]


def outcome(seed: int) -> Outcome:
    """One seed, read in full and with early stopping."""
    task = TASKS[seed % len(TASKS)]
    rng = rng_for(seed, "benchmark", "split")
    features, labels = KNOWN[task]
    is_own = np.isin(labels, rng.permutation(10)[:5])
    own = rng.permutation(np.flatnonzero(is_own))
    pools = {"same classes": features[own[N_LABELLED:]], "other classes": features[~is_own]}
    pools |= {name: rows for name, (rows, _) in KNOWN.items() if name != task}
    labelled = features[own[:N_LABELLED]]
    with threadpool_limits(1):
        start = time.process_time()
        full, n_full = winner(labelled, pools, seed, until=None)
        middle = time.process_time()
        early, n_early = winner(labelled, pools, seed, until=UNTIL)
        end = time.process_time()
    return Outcome(early == full, n_early, n_full, end - middle, middle - start)


def winner(labelled, pools, seed: int, until: float | None) -> tuple[str, int]:
    """The nearest pool, and how many images were read.

    This is what `rank` does, without p-values and intervals, which do not move the order.
    """

    def reading(rows, name, most):
        return Reading(FeatureArray(rows, name), most, seed, None, None, None, Silent())

    plan = RankingPlan(seed=seed, until=until)
    base = reading(labelled, "labelled", 2 * plan.sample_size * plan.draws)
    base.grow(2 * plan.sample_size)
    plan = plan.fitted(len(base.features))
    most = plan.sample_size * plan.draws
    readings = {name: reading(rows, name, most) for name, rows in pools.items()}
    read_in_rounds(base, readings, plan)
    features = {name: one.features for name, one in readings.items()}
    _, certainty = measure(base.features, features, plan)
    n_read = len(base.features) + sum(map(len, features.values()))
    return list(pools)[certainty.distances[0].argmin()], n_read
