"""`mixmood train` with five pools of unknown quality, beside what else one would do with them.

    python -m benchmarks.journey FEATURES results/journey/report.jsonl [--seeds 0 1 2]

FEATURES is the folder of `benchmarks.heads.features`. Each line is one task, seed and number of
labels. Lines that are there are not computed again: stop it and start it at will. With
`--from LINES.jsonl --again mixmood told` only these methods are computed, for example after a
change of the head; the others are taken from the earlier lines. All methods of a
line use the same labelled images, pools and test images, in the view that the labelled images
choose. `python -m benchmarks.journey.page` draws the table and the figure.
"""

import json
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from threadpoolctl import threadpool_limits

import mixmood
from benchmarks.journey.tasks import FAMILIES, LABELS_A_CLASS, OLD_VIEW, Journey, journey
from benchmarks.study import study_parser
from mixmood.heads.problem import directions

Found = tuple[float, dict]
"""The accuracy on test images in percent, and what else is worth keeping."""


class Prepared:
    """Rows for scikit-learn: directions, centred and scaled as its default penalties expect."""

    def __init__(self, task: Journey, pools: list[np.ndarray], view: object = None) -> None:
        """Labelled rows and then those of the pools."""
        own = task.features([task.labelled], view)
        rows = directions(np.concatenate([own, *pools]))
        self.centre, self.scale = rows.mean(axis=0), rows.std()
        self.rows = (rows - self.centre) / self.scale
        n_pool = sum(map(len, pools))
        self.labels = np.concatenate([task.codes, np.full(n_pool, -1)])
        test = directions(task.features([task.test], view))
        self.test = (test - self.centre) / self.scale

    def accuracy(self, model: object, codes: np.ndarray) -> float:
        """Percent right on the test images."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = model.fit(self.rows, self.labels).predict(self.test)
        return 100 * float((predicted == codes).mean())


def regression() -> LogisticRegression:
    """scikit-learn's, with enough iterations."""
    return LogisticRegression(max_iter=500)


class Methods:
    """All that is compared on one task."""

    def __init__(self, task: Journey, seed: int) -> None:
        """Features are read here: their time is not counted."""
        self.task, self.seed = task, seed
        self.labelled = (task.features([task.labelled]), task.codes)
        self.test = (task.features([task.test]), task.test_codes)
        rng = np.random.default_rng([seed, 31])
        self.pools = {}
        for name, parts in task.pools.items():
            rows = task.features(parts)
            self.pools[name] = rows[rng.permutation(len(rows))]
        self.nearest = self._nearest()

    def _nearest(self) -> str:
        """The pool with the smallest cosine distance, as the paper chooses it."""
        own = self.task.features([self.task.labelled], self.task.last_view)
        view, parts = self.task.last_view, self.task.pools
        pools = {name: self.task.features(rows, view) for name, rows in parts.items()}
        size = min(80, len(own) // 2, *map(len, pools.values()))
        found = {
            name: mixmood.dissimilarity(own, rows, sample_size=size, seed=self.seed).distance
            for name, rows in pools.items()
        }
        return min(found, key=found.__getitem__)

    def _train(self, pools: dict[str, np.ndarray], algorithm: str) -> Found:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = mixmood.train(
                self.labelled, pools, test=self.test, algorithm=algorithm, seed=self.seed,
                threads=1, cache=None,
            )  # fmt: skip
        record = model.record
        accuracy = record.accuracy
        known = {
            "used": {pool.name: pool.n_used for pool in record.pools if pool.n_used},
            "advice": {pool.name: pool.advice for pool in record.pools},
            "gains": {pool.name: pool.gain for pool in record.pools},
            "cross_validated": accuracy.cross_validated,
            "interval": accuracy.interval,
        }
        return 100 * float(accuracy.test or 0), known

    def mixmood(self) -> Found:
        """`mixmood train L P1 ... P5`."""
        return self._train(self.pools, "auto")

    def supervised(self) -> Found:
        """The head without pools."""
        return self._train({}, "supervised")

    def paper(self) -> Found:
        """The nearest pool by cosine, MixMatch."""
        return self._train({self.nearest: self.pools[self.nearest]}, "mixmatch")

    def told(self) -> Found:
        """Pseudo-labels with the clean pool alone: somebody knows which one it is."""
        return self._train({"clean": self.pools["clean"]}, "pseudo-label")

    def logistic(self) -> Found:
        """Logistic regression in the same view."""
        return Prepared(self.task, []).accuracy(regression(), self.task.test_codes), {}

    def logistic_old(self) -> Found:
        """Logistic regression in the old view."""
        return Prepared(self.task, [], OLD_VIEW).accuracy(regression(), self.task.test_codes), {}

    def self_training_all(self) -> Found:
        """scikit-learn's self-training on all pools together."""
        rows = Prepared(self.task, list(self.pools.values()))
        return rows.accuracy(SelfTrainingClassifier(regression()), self.task.test_codes), {}

    def self_training_nearest(self) -> Found:
        """scikit-learn's self-training on the nearest pool."""
        rows = Prepared(self.task, [self.pools[self.nearest]])
        found = rows.accuracy(SelfTrainingClassifier(regression()), self.task.test_codes)
        return found, {"nearest": self.nearest}

    def label_spreading(self) -> Found:
        """scikit-learn's label spreading on all pools together."""
        rows = Prepared(self.task, list(self.pools.values()))
        model = LabelSpreading(kernel="knn", n_neighbors=7, max_iter=100)
        return rows.accuracy(model, self.task.test_codes), {}

    def all(self) -> dict[str, Callable[[], Found]]:
        """The methods by name."""
        return {
            "mixmood": self.mixmood,
            "supervised head": self.supervised,
            "logistic": self.logistic,
            "logistic, 96 px last": self.logistic_old,
            "SelfTraining, all": self.self_training_all,
            "SelfTraining, nearest": self.self_training_nearest,
            "LabelSpreading, all": self.label_spreading,
            "paper": self.paper,
            "told": self.told,
        }


def row_of(task: Journey, name: str, labels_a_class: int, seed: int, known: dict) -> dict:
    """All methods on one task; those in `known` are not computed again."""
    methods, found = Methods(task, seed), dict(known)
    for word, method in methods.all().items():
        if word in known:
            continue
        start, cpu = perf_counter(), process_time()
        accuracy, facts = method()
        took = {"s": round(perf_counter() - start, 3), "cpu_s": round(process_time() - cpu, 3)}
        found[word] = {"accuracy": round(accuracy, 4), **took, **facts}
    sizes = {pool: sum(len(rows) for _, rows in parts) for pool, parts in task.pools.items()}
    return {
        "task": name, "labels_a_class": labels_a_class, "seed": seed, "view": str(task.view),
        "n_test": len(task.test_codes), "pools": sizes, "methods": found,
    }  # fmt: skip


def read(path: Path) -> dict[tuple[str, int, int], dict]:
    """The lines of a file by task, seed and number of labels."""
    rows = map(json.loads, path.read_text().splitlines())
    return {(row["task"], row["seed"], row["labels_a_class"]): row for row in rows}


def main() -> None:
    """Compute the lines that the file lacks, seed by seed."""
    parser = study_parser(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--part", choices=list(FAMILIES), default="report")
    parser.add_argument("--labels", type=int, nargs="+", default=list(LABELS_A_CLASS))
    parser.add_argument("--again", nargs="+", default=[], help="methods to compute again, in FROM")
    parser.add_argument("--from", dest="before", type=Path, help="lines of an earlier run")
    given = parser.parse_args()
    given.rows.parent.mkdir(parents=True, exist_ok=True)
    given.rows.touch()
    done, before = read(given.rows), read(given.before) if given.before else {}
    families = FAMILIES[given.part].items()
    for seed, n, (name, family) in product(given.seeds, given.labels, families):
        if (name, seed, n) not in done:
            task = journey(given.features, family, n, seed)
            known = before[name, seed, n]["methods"] if (name, seed, n) in before else {}
            known = {word: one for word, one in known.items() if word not in given.again}
            with threadpool_limits(1):
                row = row_of(task, name, n, seed, known)
            with given.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
