"""How well p-values, intervals and probabilities of a ranking are calibrated.

    python -m benchmarks.statistics.calibration [permutation|intervals|best]... [--runs N]

Simulated rankings of real features, with known true distances. Images of five classes of CIFAR-10
are the labelled population; pools come from the same classes, from a mixture with the other five,
from the other five, and from SVHN. A sample takes features of the population at random, with
replacement, and adds noise of a tenth of their deviation, so that no two rows are equal and the
population is unlimited. Only 64 of the 1280 features are used, because thousands of rankings are
needed. Needs the image packs (MIXMOOD_TEST_DATA).
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from benchmarks.statistics.paper_sources import pack
from mixmood.data.open import open_pool
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.extract import Extractor
from mixmood.measures.registry import MEASURES, compare
from mixmood.ranking.certainty import chances_of_best
from mixmood.ranking.distance import N_PERMUTATIONS, measure
from mixmood.ranking.draws import permutation_p
from mixmood.ranking.plan import RankingPlan

NAMES = tuple(MEASURES)
N_FEATURES = 64
N_TRUE = 4000
"""Draws of fresh images behind a true distance."""
SIZES = ((20, 10, 300), (60, 30, 900), (150, 75, 2250), (150, 40, 1200), (400, 80, 2400))
"""Labelled images, sample size, images of each pool."""


class Populations:
    """The features that samples are drawn from."""

    def __init__(self) -> None:
        """Extract them from the packs."""
        columns = np.random.default_rng(1).permutation(1280)[:N_FEATURES]
        found, labels = _features("cifar10", columns)
        self.same, self.other = found[labels < 5], found[labels >= 5]
        self.svhn, _ = _features("svhn", columns)
        self.step = (0.1 * self.same.std(axis=0)).astype(np.float32)

    def sample(self, n, rng, other=None, share=0.0):
        """Features of n fresh images, about a share of them from another population."""
        is_other = rng.random(n) < share
        rows = self.same[rng.integers(len(self.same), size=n)]
        if other is not None:
            rows[is_other] = other[rng.integers(len(other), size=int(is_other.sum()))]
        return rows + self.step * rng.standard_normal(rows.shape, np.float32)

    @property
    def pools(self) -> dict[str, Callable]:
        """By name, what draws a pool of n images."""
        return {
            "same": self.sample,
            "30 % other": partial(self.sample, other=self.other, share=0.3),
            "other": partial(self.sample, other=self.other, share=1.0),
            "svhn": partial(self.sample, other=self.svhn, share=1.0),
        }


def _features(name, columns):
    images, labels = pack(name)
    source = open_pool(images, name=name)
    found = Extractor(load_backbone()).read(source)
    return found.features[:, columns], labels


def permutation(populations, runs, jobs):
    """How often p <= 0.05 when both sets come from the same classes."""

    def one(size, seed):
        rng = np.random.default_rng([1, size, seed])
        first, second = (populations.sample(2 * size, rng) for _ in range(2))
        return permutation_p(first, second, NAMES, N_PERMUTATIONS, rng)

    for size in (10, 40, 80):
        p = np.array(Parallel(jobs)(delayed(one)(size, seed) for seed in range(runs)))
        shares = "  ".join(f"{n} {s:.2%}" for n, s in zip(NAMES, (p <= 0.05).mean(0), strict=True))
        print(f"p <= 0.05, tau {size}, {runs} runs: {shares}", flush=True)


def true_distances(populations, size, names, shapes):
    """Distances of fresh images in every draw, shape (names, pools)."""
    rng = np.random.default_rng(99)
    draws = []
    for _ in range(N_TRUE):
        others = [draw(size, rng) for draw in (populations.sample, *shapes)]
        table = compare(populations.sample(size, rng), others, names)
        draws.append(np.abs(table[:, 1:] - table[:, :1]))
    return np.mean(draws, axis=0)


def intervals(populations, runs, jobs):
    """How often the interval contains the true distance, and its error beside the true error."""

    def one(n_labelled, size, n_pool, seed):
        rng = np.random.default_rng([5, n_labelled, seed])
        labelled = populations.sample(n_labelled, rng)
        pools = {name: draw(n_pool, rng) for name, draw in populations.pools.items()}
        _, certainty = measure(
            labelled, pools, RankingPlan(measures=NAMES, sample_size=size, seed=seed)
        )
        errors = np.sqrt(np.diagonal(certainty.covariance, axis1=1, axis2=2))
        return certainty.distances, certainty.intervals(), errors

    for n_labelled, size, n_pool in SIZES:
        truth = true_distances(populations, size, NAMES, populations.pools.values())
        found = Parallel(jobs)(delayed(one)(n_labelled, size, n_pool, s) for s in range(runs))
        distances, reach, errors = (np.array(part) for part in zip(*found, strict=True))
        holds = ((reach[..., 0] <= truth) & (truth <= reach[..., 1])).mean(axis=0)
        ratio = np.sqrt((errors**2).mean(axis=0)) / distances.std(axis=0)
        print(f"{n_labelled} labelled, tau {size}, pools of {n_pool}, {runs} runs:")
        for k, name in enumerate(populations.pools):
            cells = "  ".join(
                f"{NAMES[m]} {holds[m, k]:.1%} ({ratio[m, k]:.2f})" for m in range(len(NAMES))
            )
            print(f"  {name:<11}{cells}", flush=True)


def best(populations, runs, jobs):
    """Among rankings with a chance near a value, how often the pool named is the nearest.

    Three pools with a random share of SVHN, from a half to all: below, the true distance hardly
    rises with the share, and no pool is the nearest.
    """

    def one(n_labelled, size, n_pool, seed):
        rng = np.random.default_rng([3, n_labelled, seed])
        shares = rng.uniform(0.5, 1.0, 3)
        labelled = populations.sample(n_labelled, rng)
        pools = {
            f"{k}": populations.sample(n_pool, rng, populations.svhn, share)
            for k, share in enumerate(shares)
        }
        _, certainty = measure(labelled, pools, RankingPlan(sample_size=size, seed=seed))
        chances = chances_of_best(certainty.possible(0, rng))
        return chances.max(), chances.argmax() == shares.argmin()

    for n_labelled, size, n_pool in SIZES[1:4]:
        found = Parallel(jobs)(delayed(one)(n_labelled, size, n_pool, s) for s in range(runs))
        chances, is_right = (np.array(part) for part in zip(*found, strict=True))
        print(f"{n_labelled} labelled, tau {size}, pools of {n_pool}, {runs} runs:")
        for low, high in (
            (0.0, 0.5),
            (0.5, 0.6),
            (0.6, 0.7),
            (0.7, 0.9),
            (0.9, 0.99),
            (0.99, 1.01),
        ):
            within = (low <= chances) & (chances < high)
            if within.any():
                print(
                    f"  p_best {low:.2f} to {min(high, 1):.2f}: {within.sum():5} rankings, mean "
                    f"{chances[within].mean():.3f}, right {is_right[within].mean():.3f}",
                    flush=True,
                )


PARTS = {"permutation": permutation, "intervals": intervals, "best": best}


def main():
    """Run the parts asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    populations = Populations()
    for name in options.parts or PARTS:
        start = time.perf_counter()
        PARTS[name](populations, options.runs, options.jobs)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
