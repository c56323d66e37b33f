"""Do distances foretell accuracy? Table 3, with intervals from resampling seeds."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError
from mixmood.core.seeds import rng_for
from mixmood.ranking.agreement import correlations, regret_points
from mixmood.testbed.store import Record
from mixmood.testbed.summary import Choice, accuracy_of

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


def agreement_rows(records: Sequence[Record], choice: Choice, seed: int = 0) -> list[AgreementRow]:
    """One row for each task, number of labels, algorithm, contamination and measure.

    Only seeds that all cells of a row have are used: cells are compared over the same splits.
    """
    groups: dict[tuple[str, int, str, str], list[Record]] = defaultdict(list)
    for record in records:
        run = record["run"]
        if record["distances"] and run["percent"] > 0:
            key = (run["task"], run["n_labelled"], run["algorithm"], run["contamination"])
            groups[key].append(record)
    rows = [
        _row(found, measure, choice, rng_for(seed, *key, measure))
        for key, found in groups.items()
        for measure in found[0]["distances"]
        if len(_shared(found)[0]) >= LEAST_CELLS and _shared(found)[1]
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


def _row(
    records: Sequence[Record], measure: str, choice: Choice, rng: np.random.Generator
) -> AgreementRow:
    cells, seeds = _shared(records)
    accuracy, distance = np.empty((2, len(seeds), len(cells)))
    for record in records:
        run = record["run"]
        if run["seed"] in seeds:
            place = seeds.index(run["seed"]), cells.index((run["source"], run["percent"]))
            accuracy[place] = accuracy_of(record, choice)
            distance[place] = record["distances"][measure]["distance"]
    finalists = np.array([percent for _, percent in cells]) == max(p for _, p in cells)
    x, y = distance.mean(axis=0), accuracy.mean(axis=0)
    pearson, spearman = correlations(x, y)
    draws = rng.integers(len(seeds), size=(N_RESAMPLES, len(seeds)))
    xs, ys = distance[draws].mean(axis=1), accuracy[draws].mean(axis=1)
    run = records[0]["run"]
    return AgreementRow(
        task=run["task"],
        n_labelled=run["n_labelled"],
        algorithm=run["algorithm"],
        contamination=run["contamination"],
        measure=measure,
        pearson=pearson,
        pearson_interval=_interval(_pearsons(xs, ys), len(seeds)),
        spearman=spearman,
        spearman_interval=_interval(_pearsons(_ranks(xs), _ranks(ys)), len(seeds)),
        regret_points=regret_points(x[finalists], y[finalists]),
        regret_interval=_interval(_regrets(xs[:, finalists], ys[:, finalists]), len(seeds)),
        n_cells=len(cells),
        n_seeds=len(seeds),
    )


def _pearsons(x: Numbers, y: Numbers) -> Numbers:
    """Pearson's r of each row of two arrays of the same shape; NaN where a row is constant."""
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        below = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
        return np.asarray((x * y).sum(axis=1) / below)


def _ranks(values: Numbers) -> Numbers:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, axis=1), dtype=np.float64)


def _regrets(distances: Numbers, accuracies: Numbers) -> Numbers:
    nearest = distances == distances.min(axis=1, keepdims=True)
    chosen = (accuracies * nearest).sum(axis=1) / nearest.sum(axis=1)
    return np.asarray(100 * (accuracies.max(axis=1) - chosen))


def _interval(values: Numbers, n_seeds: int) -> Interval:
    kept = values[np.isfinite(values)]
    if n_seeds < 2 or not len(kept):
        return None
    low, high = np.quantile(kept, [0.025, 0.975])
    return float(low), float(high)
