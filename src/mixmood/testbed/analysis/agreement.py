"""Do distances foretell accuracy? Table 3, with intervals from resampling seeds."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError
from mixmood.core.seeds import rng_for
from mixmood.testbed.analysis.correlation import correlations, regret_points
from mixmood.testbed.analysis.summary import Choice, accuracy_of
from mixmood.testbed.runs.store import Record

Numbers = NDArray[np.float64]
Interval = tuple[float, float] | None

N_RESAMPLES = 2000
LEAST_CELLS = 3


@dataclass(frozen=True)
class AgreementRow:
    """How well a measure foretells accuracy over the contaminated cells of one task.

    Intervals are 95 % bootstrap intervals over seeds, None with a single seed: how much the
    numbers hang on which runs were made, not on which sources were tried.
    """

    task: str
    n_labelled: int
    algorithm: str
    contamination: str
    measure: str
    pearson: float | None
    pearson_interval: Interval
    spearman: float | None
    spearman_interval: Interval
    regret_points: float
    regret_interval: Interval
    n_cells: int
    n_seeds: int


@dataclass(frozen=True)
class Group:
    """The contaminated runs of one task, number of labels, algorithm and contamination."""

    key: tuple[str, int, str, str]
    records: list[Record]
    cells: list[tuple[str, float]]
    """Sources and percents."""
    seeds: list[int]
    """Those that all cells have: cells are compared over the same splits."""

    @property
    def measures(self) -> list[str]:
        """The measures that the runs have distances by."""
        return list(self.records[0]["distances"])

    @property
    def finalists(self) -> NDArray[np.bool_]:
        """Which cells have the highest percentage: regret is counted over those."""
        percents = np.array([percent for _, percent in self.cells])
        return np.asarray(percents == percents.max())

    def arrays(self, measure: str, choice: Choice) -> tuple[Numbers, Numbers]:
        """Distances and accuracies, both of shape (seeds, cells)."""
        distance, accuracy = np.empty((2, len(self.seeds), len(self.cells)))
        for record in self.records:
            run = record["run"]
            if run["seed"] in self.seeds:
                cell = self.cells.index((run["source"], run["percent"]))
                place = self.seeds.index(run["seed"]), cell
                distance[place] = record["distances"][measure]["distance"]
                accuracy[place] = accuracy_of(record, choice)
        return distance, accuracy


def groups(records: Sequence[Record]) -> list[Group]:
    """The groups that can be correlated: at least three cells that share a seed."""
    found: dict[tuple[str, int, str, str], list[Record]] = defaultdict(list)
    for record in records:
        run = record["run"]
        if record["distances"] and run["percent"] > 0:
            key = (run["task"], run["n_labelled"], run["algorithm"], run["contamination"])
            found[key].append(record)
    made = [Group(key, own, *_shared(own)) for key, own in found.items()]
    return [group for group in made if len(group.cells) >= LEAST_CELLS and group.seeds]


def agreement_rows(records: Sequence[Record], choice: Choice, seed: int = 0) -> list[AgreementRow]:
    """One row for each task, number of labels, algorithm, contamination and measure."""
    rows = [
        _row(group, measure, choice, rng_for(seed, *group.key, measure))
        for group in groups(records)
        for measure in group.measures
    ]
    if not rows:
        raise InputError(
            f"To correlate, at least {LEAST_CELLS} contaminated cells of one task must share a "
            "seed. Run more of the test bed, or select less strictly."
        )
    return rows


def _shared(records: Sequence[Record]) -> tuple[list[tuple[str, float]], list[int]]:
    """The cells of a group, and the seeds that all of them have."""
    seeds: dict[tuple[str, float], set[int]] = defaultdict(set)
    for record in records:
        run = record["run"]
        seeds[run["source"], run["percent"]].add(run["seed"])
    return list(seeds), sorted(set.intersection(*seeds.values()))


def _row(group: Group, measure: str, choice: Choice, rng: np.random.Generator) -> AgreementRow:
    distance, accuracy = group.arrays(measure, choice)
    n_seeds, finalists = len(group.seeds), group.finalists
    x, y = distance.mean(axis=0), accuracy.mean(axis=0)
    pearson, spearman = correlations(x, y)
    draws = rng.integers(n_seeds, size=(N_RESAMPLES, n_seeds))
    xs, ys = distance[draws].mean(axis=1), accuracy[draws].mean(axis=1)
    task, n_labelled, algorithm, contamination = group.key
    return AgreementRow(
        task=task,
        n_labelled=n_labelled,
        algorithm=algorithm,
        contamination=contamination,
        measure=measure,
        pearson=pearson,
        pearson_interval=interval(pearsons(xs, ys), n_seeds),
        spearman=spearman,
        spearman_interval=interval(spearmans(xs, ys), n_seeds),
        regret_points=regret_points(x[finalists], y[finalists]),
        regret_interval=interval(regrets(xs[:, finalists], ys[:, finalists]), n_seeds),
        n_cells=len(group.cells),
        n_seeds=n_seeds,
    )


def pearsons(x: Numbers, y: Numbers) -> Numbers:
    """Pearson's r of each row of two arrays of the same shape; NaN where a row is constant."""
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        below = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
        return np.asarray((x * y).sum(axis=1) / below)


def spearmans(x: Numbers, y: Numbers) -> Numbers:
    """Spearman's rho of each row of two arrays of the same shape; NaN where a row is constant."""
    from scipy.stats import rankdata

    ranks = (np.asarray(rankdata(values, axis=1), dtype=np.float64) for values in (x, y))
    return pearsons(*ranks)


def regrets(distances: Numbers, accuracies: Numbers) -> Numbers:
    """Points of accuracy lost by the nearest instead of the best, for each row."""
    nearest = distances == distances.min(axis=1, keepdims=True)
    chosen = (accuracies * nearest).sum(axis=1) / nearest.sum(axis=1)
    return np.asarray(100 * (accuracies.max(axis=1) - chosen))


def interval(values: Numbers, n_seeds: int) -> Interval:
    """The middle 95 % of resampled values; None with a single seed."""
    kept = values[np.isfinite(values)]
    if n_seeds < 2 or not len(kept):
        return None
    low, high = np.quantile(kept, [0.025, 0.975])
    return float(low), float(high)
