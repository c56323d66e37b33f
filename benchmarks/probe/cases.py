"""Pools whose true gain is known, with everything that could predict it.

    python -m benchmarks.probe.cases FEATURES ROWS.jsonl --part development --labels 60 --seeds 0 1

FEATURES is the folder of `benchmarks.heads.features`. Each case is one line of the file; cases
that are there already are not computed again, so that more seeds can be added at any time.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.heads.tasks import DEVELOPMENT, REPORT, Family, Task, draw
from mixmood.core.seeds import rng_for
from mixmood.heads.registry import HEADS, fit_head
from mixmood.measures.registry import MEASURES, compare
from mixmood.ranking.probe.measure import N_PART, labelled_folds, pool_effect
from mixmood.scores.useful_share import useful_share

PERCENTS = (10, 25, 50, 75, 90, 100)
N_POOL = 2000
"""Two pools of a thousand are trained with: the true gain is their mean."""
N_MIXED = 8
"""Mixed pools drawn for each task and seed, besides the clean one; None takes all."""
ALGORITHMS = tuple(name for name, entry in HEADS.items() if entry.uses_pool)
N_DRAWS = 3
"""Draws of the distances; they are not needed to fit the map."""


@dataclass(frozen=True)
class Case:
    """One pool of one task and seed."""

    task: str
    n_labelled: int
    seed: int
    source: str
    percent: int

    @property
    def key(self) -> str:
        """What names the case in the file."""
        return f"{self.task}|{self.n_labelled}|{self.seed}|{self.source}|{self.percent}"


def cases_of(family: Family, n_labelled: int, seed: int, n_mixed: int | None) -> list[Case]:
    """The clean pool, and some of the mixtures of each source."""
    mixed = [(source, percent) for source in family.sources for percent in PERCENTS]
    if n_mixed is not None:
        rng = rng_for(seed, "mixtures", family.name)
        mixed = [mixed[k] for k in sorted(rng.permutation(len(mixed))[:n_mixed])]
    return [
        Case(family.name, n_labelled, seed, source, percent)
        for source, percent in [("clean", 0), *mixed]
    ]


def pool_of(task: Task, case: Case) -> np.ndarray:
    """The pool of a case, in random order."""
    pool = task.clean if case.percent == 0 else task.pool(case.source, case.percent)
    return rng_for(case.seed, "shuffle", case.key).permutation(pool)


def probed_rows(pool: np.ndarray) -> np.ndarray:
    """The images that are probed: some of either half, which are what is trained with."""
    return np.concatenate([half[:N_PART] for half in halves_of(pool)])


def halves_of(pool: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two pools of the same kind."""
    return pool[: len(pool) // 2], pool[len(pool) // 2 :]


def share_row(task: Task, case: Case) -> dict:
    """The useful share of a pool, and how well a classifier tells it from the labelled images."""
    probed = probed_rows(pool_of(task, case))
    rng = rng_for(case.seed, "share", case.key)
    found = useful_share(task.features, probed, rng, labels=task.codes)
    return {"share": found.share, "share_low": found.interval[0], "share_high": found.interval[1]}


def rows_of_task(task: Task, cases: list[Case], n_draws: int) -> Iterator[dict]:
    """Truth and predictors of some pools of one task."""
    n_classes = int(task.codes.max()) + 1
    seed = cases[0].seed
    folds = labelled_folds(task.features, task.codes, n_classes, rng_for(seed, "folds"))
    base = accuracy(task, "supervised", None, rng_for(seed, "base"))
    for case in cases:
        pool = pool_of(task, case)
        halves, probed = halves_of(pool), probed_rows(pool)
        row = {"key": case.key, **vars(case), "base": 100 * base, "cv": 100 * folds.accuracy}
        for name in ALGORITHMS:
            gains = [
                100 * (accuracy(task, name, half, rng_for(seed, "train", case.key, k)) - base)
                for k, half in enumerate(halves)
            ]
            effect = pool_effect(folds, probed, name, rng_for(seed, "probe", case.key))
            row[name] = {"gains": gains, **vars(effect)}
        row |= share_row(task, case)
        if n_draws:
            rng = rng_for(seed, "distances", case.key)
            row["distances"] = distances(task.features, pool, n_draws, rng)
        yield row


def accuracy(task: Task, name: str, pool: np.ndarray | None, rng: np.random.Generator) -> float:
    """Accuracy on the test images of a head that is trained on all labels and the pool."""
    n_classes = int(task.codes.max()) + 1
    head = fit_head(name, task.features, task.codes, n_classes, pool, rng)
    return float((head.predict(task.test_features) == task.test_codes).mean())


def distances(
    labelled: np.ndarray, pool: np.ndarray, n_draws: int, rng: np.random.Generator
) -> dict[str, float]:
    """Each measure as a ranking takes it: the mean of |inter - intra| over draws."""
    names, size = list(MEASURES), len(labelled) // 2
    found = []
    for _ in range(n_draws):
        own = rng.permutation(len(labelled))
        first, second = labelled[own[:size]], labelled[own[size : 2 * size]]
        other = pool[rng.permutation(len(pool))[:size]]
        table = compare(first, [second, other], names)
        found.append(np.abs(table[:, 1] - table[:, 0]))
    return dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))


def main() -> None:
    """Compute the cases that the file lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=Path)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--part", choices=["development", "report"], required=True)
    parser.add_argument("--labels", type=int, nargs="+", default=[60])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--mixed", type=int, default=N_MIXED)
    parser.add_argument("--draws", type=int, default=N_DRAWS)
    given = parser.parse_args()
    done = set()
    if given.rows.exists():
        done = {json.loads(line)["key"] for line in given.rows.read_text().splitlines()}
    families = DEVELOPMENT if given.part == "development" else REPORT
    for seed in given.seeds:
        for n_labelled in given.labels:
            for family in families.values():
                todo = cases_of(family, n_labelled, seed, given.mixed)
                todo = [case for case in todo if case.key not in done]
                if not todo:
                    continue
                task = draw(given.features, family, n_labelled, seed, N_POOL)
                for row in rows_of_task(task, todo, given.draws):
                    with given.rows.open("a") as file:
                        file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
