"""The paper's claims one by one, each with its number here and in the paper.

Each number is a mean over tasks with the 95 % interval over seeds, in points of accuracy or as a
correlation; the paper's have no interval, since it prints no runs. `benchmarks.testbed.page` writes
the table.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.testbed.predictors import accuracies, gains, place, scores, whole
from benchmarks.testbed.records import Pool, pools_of, read_rows, units_of
from benchmarks.testbed.units import (
    Mean,
    Unit,
    by_unit,
    correlation_of_means,
    mean_correlation,
    mean_over,
    pearson,
    spearman,
)
from mixmood.testbed.analysis.tables import (
    paper_table,
)

NOISE = ("gaussian", "salt_and_pepper")
Units = dict[Unit, list[Pool]]


def mean_gain(pools: list[Pool], wanted: Callable[[Pool], bool]) -> float:
    """The mean gain of some pools of a unit."""
    own = [pool.gain for pool in pools if wanted(pool)]
    return float(np.mean(own)) if own else np.nan


def numbers(units: Units) -> dict[str, Mean]:
    """Every claim of one number of labels and algorithm."""

    def gain(wanted: Callable[[Pool], bool]) -> Mean:
        return mean_over(by_unit(units, lambda p: mean_gain(p, wanted)), "seeds")

    def less(one: Callable[[Pool], bool], other: Callable[[Pool], bool]) -> Mean:
        return mean_over(by_unit(units, lambda p: mean_gain(p, one) - mean_gain(p, other)), "seeds")

    mixed = {unit: [p for p in pools if p.percent > 0] for unit, pools in units.items()}
    foreign = {unit: [p for p in pools if p.percent == 100] for unit, pools in units.items()}

    def over(own: Units, f, *names: str) -> Mean:
        return mean_correlation(
            by_unit(own, lambda p: float(np.mean([-f(scores(p, n), gains(p)) for n in names])))
        )

    def is_noise(pool: Pool) -> bool:
        return pool.percent == 100 and pool.source in NOISE

    return {
        "clean pool against no pool": gain(lambda p: p.percent == 0),
        "half foreign against no pool": gain(lambda p: p.percent == 50),
        "wholly foreign against no pool": gain(lambda p: p.percent == 100),
        "half foreign against clean": less(lambda p: p.percent == 50, lambda p: p.percent == 0),
        "wholly foreign against clean": less(lambda p: p.percent == 100, lambda p: p.percent == 0),
        "r of cosine and accuracy, of means over seeds": correlation_of_means(
            by_unit(mixed, lambda p: -scores(sorted(p, key=place), "cosine")),
            by_unit(mixed, accuracies),
        ),
        "r of cosine and accuracy, in each seed": over(mixed, pearson, "cosine"),
        "rho of cosine and accuracy": over(mixed, spearman, "cosine"),
        "rho of cosine and accuracy, wholly foreign": over(foreign, spearman, "cosine"),
        "r: cosine and js minus l1 and l2": mean_over(by_unit(mixed, _difference), "seeds"),
        "noise against other sources, both 100 %": less(
            is_noise, lambda p: p.percent == 100 and p.source not in NOISE
        ),
    }


def _difference(pools: list[Pool]) -> float:
    both = [
        np.mean([-pearson(scores(pools, name), gains(pools)) for name in names])
        for names in (("cosine", "js"), ("l1", "l2"))
    ]
    return float(both[0] - both[1])


def paper_numbers(n_labelled: int) -> dict[str, float]:
    """The same from the paper's tables; its supervised baseline has far fewer updates."""
    table, distances = paper_table("table1_accuracy"), paper_table("table2_distances")
    tasks = sorted({key[0] for key in table})

    def accuracy(task: str, percent: float, noise: bool | None = None) -> float:
        own = [
            100 * value
            for (name, source, share, n), value in table.items()
            if (name, share, n) == (task, percent, n_labelled)
            and source != "supervised"
            and (noise is None or (source in NOISE) == noise)
        ]
        return float(np.mean(own))

    def over(value: Callable[[str], float]) -> float:
        return float(np.mean([value(task) for task in tasks]))

    def base(task: str) -> float:
        return 100 * table[task, "supervised", 0.0, n_labelled]

    def rank(task: str, percents: tuple[float, ...]) -> float:
        cells = [
            key
            for key in table
            if key[0] == task
            and key[2] in percents
            and key[3] == n_labelled
            and key[1] != "supervised"
        ]
        x = [distances[task, source, percent, "cosine"] for _, source, percent, _ in cells]
        return spearman(x, [table[cell] for cell in cells])

    r = paper_table("table3_correlations")
    return {
        "clean pool against no pool": over(lambda t: accuracy(t, 0) - base(t)),
        "half foreign against no pool": over(lambda t: accuracy(t, 50) - base(t)),
        "wholly foreign against no pool": over(lambda t: accuracy(t, 100) - base(t)),
        "half foreign against clean": over(lambda t: accuracy(t, 50) - accuracy(t, 0)),
        "wholly foreign against clean": over(lambda t: accuracy(t, 100) - accuracy(t, 0)),
        "r of cosine and accuracy, of means over seeds": over(lambda t: r[t, n_labelled, "cosine"]),
        "r of cosine and accuracy, in each seed": np.nan,
        "rho of cosine and accuracy": over(lambda t: rank(t, (50.0, 100.0))),
        "rho of cosine and accuracy, wholly foreign": over(lambda t: rank(t, (100.0,))),
        "r: cosine and js minus l1 and l2": over(
            lambda t: (
                np.mean([r[t, n_labelled, m] for m in ("cosine", "js")])
                - np.mean([r[t, n_labelled, m] for m in ("l1", "l2")])
            )
        ),
        "noise against other sources, both 100 %": over(
            lambda t: accuracy(t, 100, True) - accuracy(t, 100, False)
        ),
    }


def table(columns: dict[str, dict[str, Mean]], n_labelled: int) -> list[str]:
    """Every claim, with a column for each of these and one for the paper."""
    lines = [f"| | {' | '.join(columns)} | paper |", "|---|" + "---|" * (len(columns) + 1)]
    for claim, theirs in paper_numbers(n_labelled).items():
        digits = 2 if claim.startswith("r") else 1
        words = [found[claim].text(digits, sign=True) for found in columns.values()]
        word = f"{theirs:+.{digits}f}" if np.isfinite(theirs) else "-"
        lines.append(f"| {claim} | {' | '.join(words)} | {word} |")
    return lines


def summary(folder: Path) -> str:
    """The claims of all algorithms and numbers of labels."""
    pools = pools_of(read_rows(folder))
    algorithms = list(dict.fromkeys(pool.row["algorithm"] for pool in pools))
    lines = ["# The paper's claims", ""]
    for n_labelled in sorted({pool.row["n_labelled"] for pool in pools}, key=int):
        found = {name: numbers(whole(units_of(pools, n_labelled, name))) for name in algorithms}
        lines += [f"## {n_labelled} labels", "", *table(found, int(n_labelled)), ""]
    return "\n".join(lines)
