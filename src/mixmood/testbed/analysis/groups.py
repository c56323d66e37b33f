"""Groups of records to compare: the contaminated runs of one task and one way of training."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeVar

import numpy as np

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError
from mixmood.testbed.cells import Cell
from mixmood.testbed.config import SCRATCH, Regime
from mixmood.testbed.plan import Choice
from mixmood.testbed.record import RunRecord

LEAST_CELLS = 3  # two cells always have a correlation of +1 or -1
SHARE, GAIN = "useful share", "probe"
PREDICTORS = (SHARE, GAIN)
"""Larger is better. The share is between 0 and 1. The gain is in points, as computed by the version
of mixmood that made the run."""
Kind = Literal["measures", "predictors"]  # what is compared with accuracy: distances, or PREDICTORS
PoolKey = tuple[str, float]  # one kind of contamination: its source, and its percentage
Key = TypeVar("Key")
Value = TypeVar("Value")


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, keys and values in the order in which they come.

    >>> grouped([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


@dataclass(frozen=True)
class GroupKey:
    """The fields of a cell except its pool; cells with equal keys are compared with each other."""

    task: str
    n_labelled: int
    algorithm: str
    contamination: str
    regime: Regime = SCRATCH
    n_unlabelled: int | None = None

    @classmethod
    def of(cls, row: "Cell | GroupKey") -> "GroupKey":
        """The group of a cell, a run, or a row of a table."""
        return GroupKey(*(getattr(row, field.name) for field in fields(GroupKey)))


@dataclass(frozen=True)
class Group:
    """The contaminated runs of one group; arrays have the shape (seeds, cells)."""

    key: GroupKey
    cells: list[PoolKey]
    seeds: list[int]  # that all cells have, so that cells are compared over the same splits
    accuracies: Array
    values: dict[str, Array]  # by measure, or by those of PREDICTORS that all runs have


def groups(records: Sequence[RunRecord], choice: Choice, kind: Kind = "measures") -> list[Group]:
    """The groups that can be correlated: at least three cells that share a seed, in one view."""
    found = grouped(
        (GroupKey.of(record.run), record)
        for record in records
        if record.distances and record.run.percent > 0
    )
    made = []
    for key, own in found.items():
        views = grouped((one.run.seed, one.view) for one in own if one.view is not None)
        for seed, of_seed in views.items():
            if len(set(of_seed)) > 1:
                raise InputError(
                    f"The runs of {key.task} with {key.n_labelled} labels and seed {seed} were "
                    f"made in different views: {'; '.join(sorted(set(of_seed)))}. Their accuracies "
                    "cannot be compared. Run the test bed again in a new --store."
                )
        seeds_of = grouped(((one.run.source, one.run.percent), one.run.seed) for one in own)
        cells, seeds = list(seeds_of), sorted(set.intersection(*map(set, seeds_of.values())))
        if len(cells) < LEAST_CELLS or not seeds:
            continue
        places = {(one.run.seed, one.run.source, one.run.percent): one for one in own}
        runs = [[places[seed, *cell] for cell in cells] for seed in seeds]
        accuracies = np.array([[one.accuracy.by(choice) for one in row] for row in runs])
        seen = [[values_of(one, kind) for one in row] for row in runs]
        names = [name for name in seen[0][0] if all(name in values_of(one, kind) for one in own)]
        values = {name: np.array([[one[name] for one in row] for row in seen]) for name in names}
        made.append(Group(key, cells, seeds, accuracies, values))
    return made


def values_of(record: RunRecord, kind: Kind) -> dict[str, float]:
    """The distances of a run by measure, or those of PREDICTORS that it has."""
    if kind == "measures":
        return {measure: found.distance for measure, found in (record.distances or {}).items()}
    share, probe = record.useful_share, record.probe
    return ({SHARE: share.share} if share else {}) | ({GAIN: probe.gain} if probe else {})


@dataclass(frozen=True, kw_only=True)
class GroupLine(GroupKey):
    """The least-squares line of one row of Table 3: both ends, and Pearson's r of its points."""

    measure: str
    x: tuple[float, float]
    y: tuple[float, float]
    pearson: float


def fitted_lines(
    records: Sequence[RunRecord], choice: Choice, kind: Kind = "measures"
) -> list[GroupLine]:
    """A line over the range of each measure, or predictor, of a group; none through a constant."""
    lines = []
    for group in groups(records, choice, kind):
        y = group.accuracies.mean(axis=0)
        for name, values in group.values.items():
            x = values.mean(axis=0)
            if np.ptp(x) == 0 or np.ptp(y) == 0:
                continue
            slope = float(np.cov(x, y, ddof=0)[0, 1] / x.var())
            ends = (float(x.min()), float(x.max()))
            low, high = (float(y.mean() + slope * (end - x.mean())) for end in ends)
            r = float(np.corrcoef(x, y)[0, 1])
            lines.append(
                GroupLine(**vars(group.key), measure=name, x=ends, y=(low, high), pearson=r)
            )
    return lines
