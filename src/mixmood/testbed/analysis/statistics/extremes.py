"""The best and the worst source of each task."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixmood.testbed.analysis.statistics.groups import GroupKey
from mixmood.testbed.analysis.summary import AccuracyRow

LEAST_GAIN = 0.02
"""A model better than chance is so by at least this and by at least two standard errors."""


@dataclass(frozen=True)
class Extremes:
    """The best and the worst source of a task at its highest percentage.

    Accuracies are means over the numbers of labels and the ways of training that all sources
    have. If no source gave a model better than chance (1 / number of classes), `best` and `worst`
    have no meaning.
    """

    task: str
    percent: float
    best: str
    best_accuracy: float
    worst: str
    worst_accuracy: float
    n_sources: int
    chance: float = 0.0
    is_above_chance: bool = True


def extremes(rows: Sequence[AccuracyRow], n_classes: int) -> list[Extremes]:
    """One for each task with at least two sources to compare."""
    tasks = dict.fromkeys(row.task for row in rows)
    found = (_of_task(task, rows, 1 / n_classes) for task in tasks)
    return [each for each in found if each is not None]


def _of_task(task: str, rows: Sequence[AccuracyRow], chance: float) -> Extremes | None:
    own = [row for row in rows if row.task == task and row.percent > 0]
    percent = max((row.percent for row in own), default=0.0)
    values: dict[GroupKey, dict[str, AccuracyRow]] = defaultdict(dict)
    for row in own:
        if row.percent == percent:
            values[GroupKey.of(row)][row.source] = row
    sources = list(dict.fromkeys(source for found in values.values() for source in found))
    whole = [found for found in values.values() if len(found) == len(sources)]
    if len(sources) < 2 or not whole:
        return None
    means = {
        source: float(np.mean([found[source].accuracy_mean for found in whole]))
        for source in sources
    }
    best, worst = max(sources, key=means.__getitem__), min(sources, key=means.__getitem__)
    margin = max(LEAST_GAIN, 2 * _standard_error([found[best] for found in whole]))
    return Extremes(
        task=task,
        percent=percent,
        best=best,
        best_accuracy=means[best],
        worst=worst,
        worst_accuracy=means[worst],
        n_sources=len(sources),
        chance=chance,
        is_above_chance=means[best] > chance + margin,
    )


def _standard_error(rows: Sequence[AccuracyRow]) -> float:
    """The standard error of the mean over rows, whose accuracies are means over runs."""
    variances = [(row.accuracy_spread or 0.0) ** 2 / row.n_runs for row in rows]
    return math.sqrt(sum(variances)) / len(rows)
