"""Groups of records to compare: the contaminated runs of one task and one way of training."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.testbed.analysis.statistics.predictors import PREDICTORS
from mixmood.testbed.grid.cells import Cell
from mixmood.testbed.grid.config import SCRATCH, Regime
from mixmood.testbed.runs.record import Choice, RunRecord

PoolKey = tuple[str, float]
"""One kind of contamination: its source, and its percentage."""
LEAST_CELLS = 3
"""Two cells always have a correlation of +1 or -1."""


@dataclass(frozen=True)
class GroupKey:
    """The fields of a cell except its pool; cells with equal keys are compared with each other."""

    task: str
    n_labelled: int
    algorithm: str
    contamination: str
    regime: Regime = SCRATCH

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
        distance, accuracy = np.empty((2, len(self.seeds), len(self.cells)))
        for record in self.records:
            run = record.run
            if run.seed in self.seeds and record.distances:
                cell = self.cells.index((run.source, run.percent))
                place = self.seeds.index(run.seed), cell
                distance[place] = _distance(record, measure)
                accuracy[place] = record.accuracy.by(choice)
        return distance, accuracy


def _distance(record: RunRecord, measure: str) -> float:
    if measure in PREDICTORS:
        return -(PREDICTORS[measure](record) or 0.0)
    return (record.distances or {})[measure].distance


def groups(records: Sequence[RunRecord]) -> list[Group]:
    """The groups that can be correlated: at least three cells that share a seed."""
    found: dict[GroupKey, list[RunRecord]] = defaultdict(list)
    for record in records:
        if record.distances and record.run.percent > 0:
            found[GroupKey.of(record.run)].append(record)
    made = [Group(key, own, *_shared(own)) for key, own in found.items()]
    return [group for group in made if len(group.cells) >= LEAST_CELLS and group.seeds]


def _shared(records: Sequence[RunRecord]) -> tuple[list[PoolKey], list[int]]:
    """The cells of a group, and the seeds that all of them have."""
    seeds: dict[PoolKey, set[int]] = defaultdict(set)
    for record in records:
        seeds[record.run.source, record.run.percent].add(record.run.seed)
    return list(seeds), sorted(set.intersection(*seeds.values()))
