"""How the settings of the heads were chosen: `python -m benchmarks.heads.settings FEATURES OUT`.

Every candidate is one change to the settings in use. All are tried on development tasks alone,
on clean pools and on foreign ones; the table is the mean gain over the supervised head.
"""

import argparse
import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.heads.tasks import DEVELOPMENT, draw
from mixmood.core.seeds import rng_for
from mixmood.heads.mixmatch import MixMatchHead
from mixmood.heads.problem import SupervisedHead, head_problem
from mixmood.heads.propagation import PropagationHead
from mixmood.heads.pseudo_label import PseudoLabelHead

STARTS = {
    "mixmatch": MixMatchHead(),
    "pseudo-label": PseudoLabelHead(),
    "propagation": PropagationHead(),
}
CHANGES = {
    "mixmatch": {
        "temperature": (0.7,),
        "rate": (1.0, 3.0),
        "gamma": (75.0,),
        "n_updates": (200,),
        "alpha": (0.75,),
    },
    "pseudo-label": {"pool_weight": (0.1, 1.0), "last_share": (0.6,), "n_rounds": (4,)},
    "propagation": {
        "pool_weight": (1.0, 10.0),
        "n_neighbours": (10,),
        "reach": (0.7,),
        "graph_share": (0.5,),
    },
}
POOLS = ("clean", "tiny_imagenet", "gaussian", "other half")


def candidates(name: str) -> Iterator[tuple[str, object]]:
    """The head as it is, and with one setting changed."""
    yield "as it is", STARTS[name]
    for setting, values in CHANGES[name].items():
        for value in values:
            yield f"{setting}={value:g}", replace(STARTS[name], **{setting: value})


def rows_of_task(folder: Path, name: str, n_labelled: int, seed: int) -> Iterator[list[object]]:
    """Accuracy of every candidate with every pool of one task."""
    family = DEVELOPMENT[name]
    task = draw(folder, family, n_labelled, seed)
    for (source, percent), pool in task.pools().items():
        if source not in POOLS:
            continue
        problem = head_problem(task.features, task.codes, family.n_classes, pool)
        heads = [("supervised", "as it is", SupervisedHead())]
        heads += [(kind, text, head) for kind in STARTS for text, head in candidates(kind)]
        for kind, text, head in heads:
            fitted = head.fit(problem, rng_for(seed, "fit"))[0]
            accuracy = float((fitted.predict(task.test_features) == task.test_codes).mean())
            yield [name, n_labelled, seed, source, percent, kind, text, f"{accuracy:.4f}"]


def main() -> None:
    """Write what is missing, task by task, and print the mean gains."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--labels", type=int, nargs="+", default=[60])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for seed in range(options.seeds):
        for n_labelled in options.labels:
            for name in DEVELOPMENT:
                path = options.out / f"{name}-{n_labelled}-{seed}.csv".replace(" ", "_")
                if not path.exists():
                    rows = list(rows_of_task(options.features, name, n_labelled, seed))
                    options.out.mkdir(parents=True, exist_ok=True)
                    with path.open("w", newline="") as file:
                        csv.writer(file).writerows(rows)
    print_gains(options.out)


def print_gains(folder: Path) -> None:
    """Mean gain in points over supervised: by candidate, for each kind of pool."""
    found = [row for path in sorted(folder.glob("*.csv")) for row in csv.reader(path.open())]
    base = {tuple(row[:5]): float(row[7]) for row in found if row[5] == "supervised"}
    gains: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in found:
        gain = 100 * (float(row[7]) - base[tuple(row[:5])])
        gains.setdefault((row[5], row[6]), {}).setdefault(row[4], []).append(gain)
    for (kind, text), by_percent in gains.items():
        means = "  ".join(f"{p} %: {np.mean(v):+.2f}" for p, v in sorted(by_percent.items()))
        print(f"{kind:13} {text:20} {means}")


if __name__ == "__main__":
    main()
