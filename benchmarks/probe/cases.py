"""Pools whose true gain is known, with everything that could predict it.

    python -m benchmarks.probe.cases FEATURES ROWS.jsonl --part development --labels 60 --seeds 0 1

FEATURES is the folder of `benchmarks.heads.features`. Each case is one line of the file; cases
that are there already are not computed again, so that more seeds can be added at any time.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.heads.tasks import REPORT, Family, Task, draw, in_last_layer
from benchmarks.probe.tasks import FITTED_ON
from benchmarks.study import study_parser
from mixmood.core.records.ranking import ShareRecord
from mixmood.core.seeds import rng_for
from mixmood.evidence.gain import N_PART
from mixmood.evidence.labelled import LabelledEvidence
from mixmood.evidence.share import share_and_chances
from mixmood.heads.problem import head_problem
from mixmood.heads.registry import HEADS
from mixmood.ranking.draws import drawn_distances, labelled_pairs, subsets
from mixmood.ranking.plan import RankingPlan

PERCENTS = (10, 25, 50, 75, 90, 100)
N_POOL = 2000
"""Two pools of a thousand are trained with: the true gain is their mean."""
SIZES = {"n_pool": N_POOL, "n_test": None}
N_MIXED = 8
"""Mixed pools drawn for each task and seed, besides the clean one; None takes all."""
ALGORITHMS = ("pseudo-label", "propagation", "mixmatch")
OTHERS_EVERY = 5
"""In every n-th seed, all heads are trained and probed, not only the first."""
N_DRAWS = 10
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
    """The images that are probed: some of each half; the halves are what is trained with."""
    return np.concatenate([half[:N_PART] for half in halves_of(pool)])


def halves_of(pool: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two pools of the same kind."""
    return pool[: len(pool) // 2], pool[len(pool) // 2 :]


def rows_of_task(task: Task, last: Task, cases: list[Case], n_draws: int) -> Iterator[dict]:
    """Truth and predictors of some pools of one task; `last` is the task in the last layer."""
    n_classes = int(task.codes.max()) + 1
    seed = cases[0].seed
    evidence = LabelledEvidence(task.features, task.codes, seed)
    folds = evidence.folds
    base = is_right(task, "supervised", None, rng_for(seed, "base"))
    shared = {
        "view": str(task.view),
        "n_classes": n_classes,
        "n_test": len(task.test_codes),
        "base": 100 * base.mean(),
        "cv": 100 * folds.accuracy,
        "is_learnable": folds.is_learnable,
    }
    pools = {case.key: pool_of(task, case) for case in cases}
    apart = distances_of(last, cases, n_draws, seed) if n_draws else {}
    for case in cases:
        row = {"key": case.key, **vars(case), **shared, **apart.get(case.key, {})}
        part = evidence.part(probed_rows(pools[case.key]))
        share = part.share or ShareRecord(0.5, (0.0, 1.0))
        low, high = share.interval
        row |= {"share": share.share, "share_low": low, "share_high": high}
        # Other heads than the default one take as long: every fifth seed has to do.
        for name in ALGORITHMS if seed % OTHERS_EVERY == 0 else ALGORITHMS[:1]:
            changes = [
                100 * (is_right(task, name, half, rng_for(seed, "train", case.key, k)) - base)
                for k, half in enumerate(halves_of(pools[case.key]))
            ]
            effect = evidence.effect(part, name)
            gains = [change.mean() for change in changes]
            # Two estimates that have neither pool nor test images in common.
            independent = [change[k::2].mean() for k, change in enumerate(changes)]
            row[name] = {"gains": gains, "independent": independent, **vars(effect)}
        yield row


def is_right(
    task: Task, name: str, pool: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    """1 for each test image that a head trained on all labels and the pool classifies correctly."""
    n_classes = int(task.codes.max()) + 1
    useful = None
    if pool is not None:
        useful = share_and_chances(task.features, pool, rng, task.codes)[1]
    problem = head_problem(task.features, task.codes, n_classes, pool, useful=useful)
    head = HEADS[name].fit(problem, rng)[0]
    return (head.predict(task.test_features) == task.test_codes).astype(float)


def distances_of(last: Task, cases: list[Case], n_draws: int, seed: int) -> dict[str, dict]:
    """Each measure as a ranking takes it: of the last layer, whatever the view of the heads."""
    labelled, pools = last.features, {case.key: pool_of(last, case) for case in cases}
    plan = RankingPlan(measures=("all",), draws=n_draws, seed=seed).fitted(len(labelled))
    own = labelled[rng_for(seed, "order").permutation(len(labelled))]
    pairs = labelled_pairs(len(own), plan.sample_size, n_draws, rng_for(seed, "pairs"))
    rows = [
        subsets(len(pool), plan.sample_size, n_draws, rng_for(seed, "subsets", name))
        for name, pool in pools.items()
    ]
    drawn = drawn_distances(own, list(pools.values()), pairs, rows, plan.measures)
    found = {}
    for k, name in enumerate(pools):
        apart = np.abs(drawn.signed[:, k]).mean(axis=1)
        found[name] = {
            "distances": dict(zip(plan.measures, apart.tolist(), strict=True)),
        }
    return found


def read_rows(path: Path) -> list[dict]:
    """The rows of a file, packed or not; of a case that was computed twice, the first."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    found: dict[str, dict] = {}
    for row in map(json.loads, text.splitlines()):
        found.setdefault(row["key"], row)
    return list(found.values())


def keys_in(path: Path) -> set[str]:
    """The cases that a file has."""
    return {row["key"] for row in read_rows(path)} if path.exists() else set()


def append(path: Path, rows: Iterator[dict]) -> None:
    """Write rows one by one, each in one call."""
    for row in rows:
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def main() -> None:
    """Compute the cases that the file lacks."""
    parser = study_parser(__doc__)
    parser.add_argument("--part", choices=["development", "report"], required=True)
    parser.add_argument("--labels", type=int, nargs="+", default=[60])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--mixed", type=int, default=N_MIXED)
    parser.add_argument("--draws", type=int, default=N_DRAWS)
    parser.add_argument("--tasks", default="", help="Only tasks with this in their name.")
    given = parser.parse_args()
    done = keys_in(given.rows)
    families = FITTED_ON if given.part == "development" else REPORT
    families = {name: one for name, one in families.items() if given.tasks in name}
    for seed, n_labelled, family in product(given.seeds, given.labels, families.values()):
        todo = cases_of(family, n_labelled, seed, given.mixed)
        todo = [case for case in todo if case.key not in done]
        if todo:
            drawn = partial(draw, given.features, family, n_labelled, seed, **SIZES)
            task = drawn()
            append(given.rows, rows_of_task(task, in_last_layer(drawn, task), todo, given.draws))


if __name__ == "__main__":
    main()
