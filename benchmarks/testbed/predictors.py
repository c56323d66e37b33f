"""One table: how well each predictor orders pools by what they gain.

`benchmarks.testbed.page` writes it.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.testbed.records import Pool, pools_of, read_rows, units_of
from benchmarks.testbed.units import (
    Mean,
    Unit,
    best,
    by_unit,
    chosen,
    correlation_of_means,
    mean_correlation,
    mean_over,
    pearson,
    spearman,
)

Units = dict[Unit, list[Pool]]
ADVICE = "advice"
ORACLE = "(an oracle with half of the test images)"
HEAD = (
    "predictor", "Pearson of means (as the paper)", "Pearson", "Spearman", "regret (points)",
    "worse than no pool",
    "Spearman, wholly foreign", "regret, wholly foreign", "worse than no pool, wholly foreign",
)  # fmt: skip


def gains(pools: list[Pool]) -> np.ndarray:
    """What each pool gained."""
    return np.array([pool.gain for pool in pools])


def scores(pools: list[Pool], name: str) -> np.ndarray:
    """A predictor of each pool; NaN where it is not known."""
    return np.array([pool.predictors().get(name, np.nan) for pool in pools])


def accuracies(pools: list[Pool]) -> np.ndarray:
    """The accuracy with each pool, as the paper correlates it."""
    return np.array([pool.accuracy for pool in sorted(pools, key=place)])


def place(pool: Pool) -> tuple[str, float]:
    """The order of pools in a unit."""
    return pool.source, pool.percent


def _scores(name: str) -> Callable[[list[Pool]], np.ndarray]:
    return lambda pools: scores(sorted(pools, key=place), name)


def as_paper(units: Units, name: str) -> Mean:
    """The paper's number: Pearson of means over seeds, the mean of the tasks."""
    return correlation_of_means(*(by_unit(units, f) for f in (_scores(name), accuracies)))


def picked(pools: list[Pool], name: str) -> float:
    """The gain of what a predictor picks: by advice, the best pool to be used, or none."""
    if name != ADVICE:
        return chosen(scores(pools, name), gains(pools))
    used = [pool for pool in pools if pool.advice == "use"]
    return chosen([pool.probe.gain for pool in used], gains(used)) if used else 0.0


def cells_of(units: Units, name: str) -> list[str]:
    """Correlations, regret and bad picks over some pools."""
    found = [
        mean_correlation(by_unit(units, lambda p, f=f: f(scores(p, name), gains(p)))).text()
        for f in (pearson, spearman)
    ]
    lost = by_unit(units, lambda p: best(gains(p)) - picked(p, name))
    worse = by_unit(units, lambda p: 100.0 * (picked(p, name) < 0))
    return [
        *found,
        mean_over(lost, "seeds", 0.0).text(1),
        f"{mean_over(worse, 'seeds').value:.0f} %",
    ]


def oracle_cells(units: Units) -> list[str]:
    """The same for an oracle that knows the gain on half of the test images, tested on the rest."""

    def of(pools: list[Pool], k: int) -> tuple[float, float]:
        seen, true = (np.array([p.halves[j] for p in pools]) for j in (k, 1 - k))
        got = chosen(seen, true) if seen.max() > 0 else 0.0
        return best(true) - got, 100.0 * (got < 0)

    known = {unit: pools for unit, pools in units.items() if all(p.halves for p in pools)}
    both = [by_unit(known, lambda p, j=j: np.mean([of(p, k)[j] for k in (0, 1)])) for j in (0, 1)]
    return [
        "-",
        "-",
        mean_over(both[0], "seeds", 0.0).text(1),
        f"{mean_over(both[1], 'seeds').value:.0f} %" if known else "-",
    ]


def table(units: Units) -> list[str]:
    """One number of labels and algorithm in Markdown."""
    mixed = contaminated(units)
    foreign = {unit: [p for p in pools if p.percent == 100] for unit, pools in units.items()}
    names = list(
        dict.fromkeys(name for own in units.values() for p in own for name in p.predictors())
    )
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    for name in names:
        words = cells_of(mixed, name) + cells_of(foreign, name)[1:]
        lines.append("| " + " | ".join([name, as_paper(mixed, name).text(), *words]) + " |")
    words = ["-", *oracle_cells(mixed), *oracle_cells(foreign)[1:]]
    return [*lines, "| " + " | ".join([ORACLE, *words]) + " |"]


def contaminated(units: Units) -> Units:
    """Without the clean pools."""
    return {unit: [p for p in pools if p.percent > 0] for unit, pools in units.items()}


def short_table(units: Units) -> list[str]:
    """Correlations, regret and bad picks of each predictor over the contaminated pools."""
    mixed = contaminated(units)
    lines = ["| " + " | ".join(HEAD[:6]) + " |", "|" + "---|" * 6]
    every = [pool for pools in units.values() for pool in pools]
    for name in dict.fromkeys(name for pool in every for name in pool.predictors()):
        words = [name, as_paper(mixed, name).text(), *cells_of(mixed, name)]
        lines.append("| " + " | ".join(words) + " |")
    return [*lines, "| " + " | ".join([ORACLE, "-", *oracle_cells(mixed)]) + " |"]


def whole(units: Units) -> Units:
    """The units that have every pool that any unit of their task has."""
    most: dict[str, int] = {}
    for (task, _), pools in units.items():
        most[task] = max(most.get(task, 0), len(pools))
    return {unit: pools for unit, pools in units.items() if len(pools) == most[unit[0]]}


def summary(folder: Path) -> str:
    """All tables of a folder."""
    pools = pools_of(read_rows(folder))
    labels = sorted({pool.row["n_labelled"] for pool in pools}, key=int)
    algorithms = dict.fromkeys(pool.row["algorithm"] for pool in pools)
    regime = pools[0].row.get("regime", "scratch")
    lines = [f"# Predictors of a pool's gain: {folder.name}, regime {regime}", ""]
    for n_labelled in labels:
        for algorithm in algorithms:
            units = whole(units_of(pools, n_labelled, algorithm))
            tasks, seeds = {task for task, _ in units}, {seed for _, seed in units}
            lines += [
                f"## {n_labelled} labels, {algorithm}",
                "",
                f"{len(tasks)} tasks, {len(seeds)} seeds, {sum(map(len, units.values()))} runs.",
                "",
                *table(units),
                "",
            ]
    return "\n".join(lines)
