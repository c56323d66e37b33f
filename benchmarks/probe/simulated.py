"""Pools of simulated populations: are intervals and probabilities of the probe calibrated?

    python -m benchmarks.probe.simulated FEATURES ROWS.jsonl --runs 20

As in `benchmarks.statistics.calibration`, an image is a random one of a pack with its features
moved by a tenth of their deviation, so that there are any number of images and every run draws new
ones. Classes 5 to 9 are labelled; pools are of the same classes, half of the other
ones, wholly of the other ones, and SVHN. Rows are those of `benchmarks.probe.cases`.
"""

from pathlib import Path

import numpy as np

from benchmarks.heads.tasks import LOWER, OTHER_HALF, UPPER, Task, rows_of
from benchmarks.probe.cases import Case, append, keys_in, rows_of_task
from benchmarks.study import study_parser
from mixmood.core.seeds import rng_for

PACKS = ("mnist", "fashion_mnist", "cifar10")
POOLS = (("clean", 0), (OTHER_HALF, 50), (OTHER_HALF, 100), ("svhn", 50), ("svhn", 100))
N_POOL, N_TEST, N_LABELLED = 2000, 4000, 60
STEP = 0.1
"""How far an image is moved, in deviations of each feature."""


class Population:
    """Features from which any number of images can be drawn."""

    def __init__(self, rows: np.ndarray, codes: np.ndarray, step: np.ndarray) -> None:
        """Keep the rows of a pack that belong to it."""
        self.rows, self.codes, self.step = rows, codes, step

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Features and classes of n fresh images; none is equal to another."""
        drawn = rng.integers(len(self.rows), size=n)
        moves = self.step * rng.standard_normal((n, self.rows.shape[1]), np.float32)
        # Features are what is left of an activation that is never below 0.
        return np.maximum(self.rows[drawn] + moves, 0), self.codes[drawn]


def populations(folder: Path, pack: str) -> dict[str, Population]:
    """The labelled classes and what is foreign to them."""
    features, labels = rows_of(folder, pack)
    own = np.isin(labels, UPPER)
    step = (STEP * features[own].std(axis=0)).astype(np.float32)
    other, svhn = np.isin(labels, LOWER), rows_of(folder, "svhn")[0]
    return {
        "clean": Population(features[own], np.searchsorted(UPPER, labels[own]), step),
        OTHER_HALF: Population(features[other], labels[other], step),
        "svhn": Population(svhn, np.zeros(len(svhn), int), step),
    }


def simulated_task(found: dict[str, Population], rng: np.random.Generator) -> Task:
    """All images anew; as many labelled ones of each class."""
    features, codes = found["clean"].sample(40 * N_LABELLED, rng)
    each = N_LABELLED // len(UPPER)
    rows = np.concatenate([np.flatnonzero(codes == code)[:each] for code in range(len(UPPER))])
    test_features, test_codes = found["clean"].sample(N_TEST, rng)
    foreign = {name: own.sample(N_POOL, rng)[0] for name, own in found.items() if name != "clean"}
    clean = found["clean"].sample(N_POOL, rng)[0]
    return Task(features[rows], codes[rows], test_features, test_codes, clean, foreign)


def main() -> None:
    """Compute the runs that the file lacks."""
    parser = study_parser(__doc__)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    done = keys_in(given.rows)
    for run in range(1, given.runs + 1):
        for pack in PACKS:
            name = f"simulated {pack} 5-9"
            cases = [Case(name, N_LABELLED, run, *pool) for pool in POOLS]
            todo = [case for case in cases if case.key not in done]
            if todo:
                rng = rng_for(run, "simulated", pack)
                task = simulated_task(populations(given.features, pack), rng)
                append(given.rows, rows_of_task(task, todo, 0))


if __name__ == "__main__":
    main()
