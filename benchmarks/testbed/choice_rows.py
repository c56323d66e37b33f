"""Every measure beside the true gain, on development or on report tasks.

    python -m benchmarks.testbed.choice_rows FEATURES results/measures --part development --seeds 5

FEATURES is the folder of `benchmarks.heads.features`. Pools are clean, half foreign and wholly
foreign ones of a thousand images. The true gain of a pool is the mean over two draws of it, for
each head. Rows that are there already are not computed again.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.filter.rows_file import RowsFile
from benchmarks.heads.tasks import DEVELOPMENT, REPORT, Family, Task, draw, in_last_layer
from mixmood.core.seeds import rng_for
from mixmood.heads.problem import head_problem
from mixmood.heads.registry import HEADS, head_named
from mixmood.measures.registry import MEASURES
from mixmood.ranking.plan import RankingPlan
from mixmood.testbed.results import distances_between

PARTS = {"development": DEVELOPMENT, "report": REPORT}
KEYS = ("task", "n_labelled", "seed", "source", "percent")
ALGORITHMS = tuple(name for name, head in HEADS.items() if head.uses_pool)
VALUES = (*MEASURES, *(f"gain_{name}" for name in ALGORITHMS))
N_POOL = 2000
"""Two pools of a thousand."""


def rows_of(
    family: Family, task: Task, last: Task, n_labelled: int, seed: int, file: RowsFile
) -> None:
    """Add the rows of one task and seed that the file lacks; `last` is it in the last layer."""
    own_layer = last.pools()
    n_classes = int(task.codes.max()) + 1
    base = _accuracy(
        task,
        head_named("supervised").fit(
            head_problem(task.features, task.codes, n_classes), np.random.default_rng(0)
        )[0],
    )
    plan = RankingPlan(measures=tuple(MEASURES), seed=seed).fitted(n_labelled)
    for (source, percent), pool in task.pools().items():
        key = dict(zip(KEYS, (family.name, n_labelled, seed, source, percent), strict=True))
        if file.holds(**key):
            continue
        rng = rng_for(seed, "pool", family.name, source, percent)
        order = rng.permutation(len(pool))
        halves = np.array_split(pool[order], 2)
        first = own_layer[source, percent][order[: len(halves[0])]]
        found = distances_between(last.features, first, plan)
        problems = [head_problem(task.features, task.codes, n_classes, half) for half in halves]
        gains = {
            f"gain_{name}": np.mean(
                [
                    100 * (_accuracy(task, head_named(name).fit(problem, rng)[0]) - base)
                    for problem in problems
                ]
            )
            for name in ALGORITHMS
        }
        distances = {name: one["distance"] for name, one in found.items()}
        file.add(**key, **{name: f"{v:.6g}" for name, v in {**distances, **gains}.items()})


def _accuracy(task: Task, head) -> float:
    return float((head.predict(task.test_features) == task.test_codes).mean())


def main() -> None:
    """Compute what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--part", choices=list(PARTS), required=True)
    parser.add_argument("--labels", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    file = RowsFile(given.out / f"{given.part}.csv", KEYS, VALUES)
    for seed in range(given.seeds):
        for family in PARTS[given.part].values():
            drawn = partial(draw, given.features, family, given.labels, seed, n_pool=N_POOL)
            task = drawn()
            last = in_last_layer(drawn, task)
            rows_of(family, task, last, given.labels, seed, file)
            print(family.name, seed, flush=True)


if __name__ == "__main__":
    main()
