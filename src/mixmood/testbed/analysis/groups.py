"""Groups of records to compare: the contaminated runs of one task and one way of training."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import InputError
from mixmood.testbed.analysis.statistics import LEAST_CELLS
from mixmood.testbed.cells import Cell
from mixmood.testbed.config import SCRATCH, Regime
from mixmood.testbed.record import Choice, RunRecord

SHARE, GAIN = "useful share", "probe"
PREDICTORS: dict[str, Callable[[RunRecord], float | None]] = {
    SHARE: lambda record: record.useful_share.share if record.useful_share else None,
    GAIN: lambda record: record.probe.gain if record.probe else None,
}
"""For each name, a function that gives the value of a record, or None if it has none.

Larger is better. The share is between 0 and 1. The gain is in points, as computed by the version of
mixmood that made the run.
"""

Kind = Literal["measures", "predictors"]
"""What is compared with accuracy: distances, or PREDICTORS."""
PoolKey = tuple[str, float]
"""One kind of contamination: its source, and its percentage."""
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
    """The contaminated runs of one group."""

    key: GroupKey
    records: list[RunRecord]
    cells: list[PoolKey]
    seeds: list[int]
    """The seeds that all cells have, so that cells are compared over the same splits."""

    @property
    def measures(self) -> list[str]:
        """The measures whose distances the runs have."""
        return list(self.records[0].distances or {})

    @property
    def predictors(self) -> list[str]:
        """The PREDICTORS for which all runs have a value."""
        return [
            name
            for name, read in PREDICTORS.items()
            if all(read(record) is not None for record in self.records)
        ]

    @property
    def finalists(self) -> NDArray[np.bool_]:
        """Which cells have the highest percentage; regret is computed over these."""
        percents = np.array([percent for _, percent in self.cells])
        return np.asarray(percents == percents.max())

    def arrays(self, measure: str, choice: Choice) -> tuple[Array, Array]:
        """Distances and accuracies, both of shape (seeds, cells).

        For one of PREDICTORS, the distance is its negative value, so that small is good.
        """
        values = np.empty((2, len(self.seeds), len(self.cells)))
        for record in self.records:
            run = record.run
            if run.seed in self.seeds and record.distances:
                place = self.seeds.index(run.seed), self.cells.index((run.source, run.percent))
                read = PREDICTORS.get(measure)
                near = -(read(record) or 0.0) if read else record.distances[measure].distance
                values[:, *place] = near, record.accuracy.by(choice)
        return values[0], values[1]


def groups(records: Sequence[RunRecord]) -> list[Group]:
    """The groups that can be correlated: at least three cells that share a seed.

    InputError if the runs of one group and seed were made in different views.
    """
    found = grouped(
        (GroupKey.of(record.run), record)
        for record in records
        if record.distances and record.run.percent > 0
    )
    for key, own in found.items():
        _check_views(key, own)
    made = [Group(key, own, *_shared(own)) for key, own in found.items()]
    return [group for group in made if len(group.cells) >= LEAST_CELLS and group.seeds]


def _check_views(key: GroupKey, records: Sequence[RunRecord]) -> None:
    """Refuse runs with the same labelled images in different views."""
    views = grouped((record.run.seed, record.view) for record in records if record.view is not None)
    for seed, seen in views.items():
        if len(set(seen)) > 1:
            raise InputError(
                f"The runs of {key.task} with {key.n_labelled} labels and seed {seed} were made in "
                f"different views: {'; '.join(sorted(set(seen)))}. Their accuracies cannot be "
                "compared. Run the test bed again in a new --store."
            )


def _shared(records: Sequence[RunRecord]) -> tuple[list[PoolKey], list[int]]:
    """The cells of a group, and the seeds that all of them have."""
    seeds = grouped(((one.run.source, one.run.percent), one.run.seed) for one in records)
    return list(seeds), sorted(set.intersection(*map(set, seeds.values())))


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
    """A line for each group and measure, or predictor, over the seeds that its cells share."""
    return [
        line
        for group in groups(records)
        for name in getattr(group, kind)
        if (line := _line(group, name, choice))
    ]


def _line(group: Group, name: str, choice: Choice) -> GroupLine | None:
    """The line over the range of x; None if x or y is constant."""
    x, y = (values.mean(axis=0) for values in group.arrays(name, choice))
    x = -x if name in PREDICTORS else x
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    slope = float(np.cov(x, y, ddof=0)[0, 1] / x.var())
    ends = (float(x.min()), float(x.max()))
    low, high = (float(y.mean() + slope * (end - x.mean())) for end in ends)
    pearson = float(np.corrcoef(x, y)[0, 1])
    return GroupLine(**vars(group.key), measure=name, x=ends, y=(low, high), pearson=pearson)
