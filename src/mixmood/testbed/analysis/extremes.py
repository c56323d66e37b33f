"""Which source was the best to train with, and which the worst?"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixmood.testbed.analysis.summary import AccuracyRow


@dataclass(frozen=True)
class Extremes:
    """The best and the worst source of a task at its highest percentage.

    Accuracies are means over the numbers of labels, algorithms and contaminations that all of the
    sources have.
    """

    task: str
    percent: float
    best: str
    best_accuracy: float
    worst: str
    worst_accuracy: float
    n_sources: int


def extremes(rows: Sequence[AccuracyRow]) -> list[Extremes]:
    """One for each task with at least two sources to compare."""
    found = (_of_task(task, rows) for task in dict.fromkeys(row.task for row in rows))
    return [each for each in found if each is not None]


def _of_task(task: str, rows: Sequence[AccuracyRow]) -> Extremes | None:
    own = [row for row in rows if row.task == task and row.percent > 0]
    percent = max((row.percent for row in own), default=0.0)
    values: dict[tuple[int, str, str], dict[str, float]] = defaultdict(dict)
    for row in own:
        if row.percent == percent:
            place = row.n_labelled, row.algorithm, row.contamination
            values[place][row.source] = row.accuracy_mean
    sources = list(dict.fromkeys(source for found in values.values() for source in found))
    whole = [found for found in values.values() if len(found) == len(sources)]
    if len(sources) < 2 or not whole:
        return None
    means = {source: float(np.mean([found[source] for found in whole])) for source in sources}
    best, worst = max(sources, key=means.__getitem__), min(sources, key=means.__getitem__)
    return Extremes(task, percent, best, means[best], worst, means[worst], len(sources))
