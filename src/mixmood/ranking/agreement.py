"""Do distances foretell accuracy? Correlation and regret over the cells of a test bed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from mixmood.core.errors import InputError

Cell = tuple[str, float]
"""One kind of contamination: its source, and its percentage."""


@dataclass(frozen=True)
class Accuracy:
    """Mean accuracy of one cell of the test bed, 0 to 1."""

    task: str
    cell: Cell
    n_labelled: int
    mean: float


@dataclass(frozen=True)
class Distance:
    """Mean distance of one cell by one measure."""

    task: str
    cell: Cell
    measure: str
    mean: float


@dataclass(frozen=True)
class Agreement:
    """How well one measure foretells accuracy in one task; NaN-free: None where undefined.

    Attributes:
        pearson: Linear correlation over all cells; far outliers, such as noise, can carry it.
        spearman: Correlation of the ranks over all cells.
        regret_points: Accuracy lost, in points, by training with the nearest of the sources at
            their highest percentage instead of the best of them.
        n_cells: How many cells were compared.
    """

    task: str
    n_labelled: int
    measure: str
    pearson: float | None
    spearman: float | None
    regret_points: float
    n_cells: int


def agreements(accuracies: Iterable[Accuracy], distances: Iterable[Distance]) -> list[Agreement]:
    """One row for each task, number of labels and measure that both tables know.

    Cells that only one table has, such as baselines without contamination, are left out.
    """
    accuracy_of: dict[tuple[str, int], dict[Cell, float]] = defaultdict(dict)
    for row in accuracies:
        accuracy_of[row.task, row.n_labelled][row.cell] = row.mean
    distance_of: dict[tuple[str, str], dict[Cell, float]] = defaultdict(dict)
    for entry in distances:
        distance_of[entry.task, entry.measure][entry.cell] = entry.mean
    rows = [
        _agreement(task, n_labelled, measure, accuracy, distance)
        for (task, n_labelled), accuracy in accuracy_of.items()
        for (other_task, measure), distance in distance_of.items()
        if task == other_task and len(accuracy.keys() & distance.keys()) >= 2
    ]
    if not rows:
        raise InputError(
            "The two tables share no task with at least two cells (source and percentage). "
            "Are they from the same test bed?"
        )
    return rows


def _agreement(
    task: str,
    n_labelled: int,
    measure: str,
    accuracy: Mapping[Cell, float],
    distance: Mapping[Cell, float],
) -> Agreement:
    cells = sorted(accuracy.keys() & distance.keys())
    y, x = np.array([accuracy[c] for c in cells]), np.array([distance[c] for c in cells])
    pearson, spearman = correlations(x, y)
    highest = max(percent for _, percent in cells)
    finalists = np.array([percent == highest for _, percent in cells])
    return Agreement(
        task=task,
        n_labelled=n_labelled,
        measure=measure,
        pearson=pearson,
        spearman=spearman,
        regret_points=regret_points(x[finalists], y[finalists]),
        n_cells=len(cells),
    )


def correlations(
    x: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    y: "np.ndarray[tuple[int], np.dtype[np.float64]]",
) -> tuple[float | None, float | None]:
    """Pearson's r and Spearman's rho; None where a side is constant."""
    from scipy.stats import pearsonr, spearmanr

    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, None
    return float(pearsonr(x, y).statistic), float(spearmanr(x, y).statistic)


def regret_points(
    distances: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    accuracies: "np.ndarray[tuple[int], np.dtype[np.float64]]",
) -> float:
    """Points of accuracy lost by choosing the nearest source; equally near ones are averaged.

    >>> regret_points(np.array([1.0, 2.0]), np.array([0.70, 0.75])).__round__(6)
    5.0
    """
    chosen = accuracies[distances == distances.min()].mean()
    return float(100 * (accuracies.max() - chosen))
