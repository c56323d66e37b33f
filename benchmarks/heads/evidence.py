"""The accuracy of each head on tasks: `python -m benchmarks.heads.evidence FEATURES OUT`.

Every (task, labels, seed) is one file of rows, written when it is complete, so runs can be stopped.
All heads are fitted to the same labelled rows and pool and tested on the same images; `auto` is
what `mixmood train` does. The peers are scikit-learn's, on the same prepared features.
"""

import argparse
import csv
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from benchmarks.heads.tasks import DEVELOPMENT, REPORT, Family, Task, draw
from mixmood.core.seeds import rng_for
from mixmood.evidence.choice import train_head
from mixmood.heads import HEADS, fit_head
from mixmood.heads.linear import directions

PLACE = ("set", "task", "n_labelled", "seed", "source", "percent")
RESULT = ("head", "accuracy", "estimate", "low", "high", "chosen", "surer", "error", "cpu_s")
HEADER = (*PLACE, *RESULT)
POOL_HEADS = tuple(name for name, entry in HEADS.items() if entry.uses_pool)


def head_rows(task: Task, pool: np.ndarray, n_classes: int, seed: int) -> Iterator[list[object]]:
    """Every head, and `auto` with its own estimate of its accuracy."""
    rng = rng_for(seed, "train")
    start = process_time()
    auto = train_head(task.features, task.codes, n_classes, pool, rng)
    elapsed = process_time() - start
    found = {one.name: one for one in auto.comparisons}
    heads = dict(auto.others)
    for name in POOL_HEADS:
        if name not in heads:
            rng = rng_for(seed, "train", name)
            heads[name] = fit_head(name, task.features, task.codes, n_classes, pool, rng)
    for name, head in heads.items():
        one = found.get(name)
        numbers = [
            "",
            "",
            "",
            "",
            *([f"{one.surer:.5f}", f"{one.surer_error:.5f}"] if one else ["", ""]),
        ]
        yield [name, tested(head.predict(task.test_features), task), *numbers, ""]
    estimate = auto.accuracy
    numbers = [f"{value:.4f}" for value in (estimate.value, estimate.low, estimate.high)]
    right = tested(auto.head.predict(task.test_features), task)
    yield ["auto", right, *numbers, auto.name, "", "", f"{elapsed:.3f}"]


def peer_rows(task: Task, pool: np.ndarray) -> Iterator[list[object]]:
    """scikit-learn's two, with their default settings but for enough iterations."""
    rows, test = directions(np.concatenate([task.features, pool])), directions(task.test_features)
    # Unit variance over all entries: what their default strengths are made for.
    centre, scale = rows.mean(axis=0), rows.std()
    rows, test = (rows - centre) / scale, (test - centre) / scale
    labels = np.concatenate([task.codes, np.full(len(pool), -1)])
    peers = {
        "SelfTraining": SelfTrainingClassifier(LogisticRegression(max_iter=500)),
        "LabelSpreading": LabelSpreading(kernel="knn", n_neighbors=7, max_iter=100),
    }
    for name, peer in peers.items():
        start = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = peer.fit(rows, labels).predict(test)
        elapsed = process_time() - start
        yield [name, tested(predicted, task), "", "", "", "", "", "", f"{elapsed:.3f}"]


def tested(predicted: np.ndarray, task: Task) -> str:
    """The accuracy on the test images."""
    return f"{(predicted == task.test_codes).mean():.4f}"


def rows_of(
    folder: Path, family: Family, n_labelled: int, seed: int, kinds: list[str] | None
) -> Iterator[list[object]]:
    """All rows of one task; with `kinds`, of the clean pool and of these foreign ones only."""
    task = draw(folder, family, n_labelled, seed)
    which = "development" if family.name in DEVELOPMENT else "report"
    for (source, percent), pool in task.pools().items():
        if percent and kinds is not None and source not in kinds:
            continue
        place = [which, family.name, n_labelled, seed, source, percent]
        for row in head_rows(task, pool, family.n_classes, seed):
            yield [*place, *row]
        if percent == 0:
            for row in peer_rows(task, pool):
                yield [*place, *row]


def main() -> None:
    """Write what is missing, seed by seed, so that every task has as many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=["report", "development"])
    parser.add_argument("--labels", type=int, nargs="+", default=[60, 20, 150])
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 10], metavar=("FIRST", "END"))
    parser.add_argument("--kinds", nargs="+", help="foreign sources; all if unset")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    families = {"report": REPORT, "development": DEVELOPMENT}
    for seed in range(*options.seeds):
        for n_labelled in options.labels:
            for family in (f for kind in options.sets for f in families[kind].values()):
                name = f"{family.name}-{n_labelled}-{seed}.csv".replace(" ", "_")
                if (options.out / name).exists():
                    continue
                rows = list(rows_of(options.features, family, n_labelled, seed, options.kinds))
                unfinished = options.out / f"{name}.part"
                with unfinished.open("w", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
                unfinished.replace(options.out / name)


if __name__ == "__main__":
    main()
