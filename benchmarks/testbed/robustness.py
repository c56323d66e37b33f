"""How a head bears foreign images: slopes, losses and the share of pools that help.

Of the records of the preset `dose`. All numbers are points against training without a pool.

Source of the measures: arXiv 2503.00884, 2025: slope of the accuracy over the foreign share, worst
and average loss, share of settings in which the pool helps.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks import study
from benchmarks.testbed.dose import KINDS, cell
from benchmarks.testbed.records import Pool, pools_of, read_rows
from benchmarks.testbed.units import Unit, mean_over

HEAD = (
    "head | contamination | slope, points for 10 % more foreign | mean loss against the clean pool "
    "| worst pool | pools that help, %"
)


def of(pools: list[Pool], algorithm: str, contamination: str) -> list[Pool]:
    """The pools of one head and kind of contamination."""
    return [
        pool
        for pool in pools
        if (pool.row["algorithm"], pool.row["contamination"]) == (algorithm, contamination)
    ]


def with_clean(pools: list[Pool], algorithm: str, contamination: str) -> list[Pool]:
    """The same with the clean pools, which are of every kind of contamination."""
    clean = [p for p in pools if p.row["algorithm"] == algorithm and p.percent == 0]
    return clean + [p for p in of(pools, algorithm, contamination) if p.percent > 0]


def kinds(pools: list[Pool]) -> list[tuple[str, str]]:
    """Every head with every kind of contamination."""
    return list(dict.fromkeys((p.row["algorithm"], p.row["contamination"]) for p in pools))


def table(pools: list[Pool]) -> Iterator[list[str]]:
    """A row for each head and kind of contamination; intervals over seeds, of shares over tasks."""
    for algorithm, contamination in kinds(pools):
        units: dict[Unit, list[Pool]] = {}
        for pool in with_clean(pools, algorithm, contamination):
            units.setdefault((pool.row["task"], int(pool.row["seed"])), []).append(pool)
        numbers = {unit: _numbers(own) for unit, own in units.items()}
        means = [
            mean_over({unit: found[k] for unit, found in numbers.items()}, "seeds")
            for k in range(3)
        ]
        helps = {unit: 100 * found[3] for unit, found in numbers.items()}
        words = [mean.text(2, sign=True) for mean in means]
        words.append(mean_over(helps, "tasks", 0, 100).text(0))
        yield [algorithm, contamination, *words]


def summary(folder: Path) -> str:
    """The table of a folder."""
    lines = ["## Robustness", "", "Points against training without a pool."]
    rows = list(table(pools_of(read_rows(folder))))
    return "\n".join([*lines, "", *study.table(HEAD, rows)])


def _numbers(pools: list[Pool]) -> tuple[float, float, float, float]:
    """Slope, mean loss, worst gain and share that helps, of one task and seed."""
    gains = np.array([pool.gain for pool in pools])
    percents = np.array([pool.percent for pool in pools])
    slope = 10 * float(np.polyfit(percents, gains, 1)[0])
    foreign = percents > 0
    loss = float((gains[foreign] - gains[~foreign].mean()).mean())
    return slope, loss, float(gains.min()), float((gains[foreign] > 0).mean())


def draw(pools: list[Pool], figure: Figure) -> None:
    """Gain against foreign share: a panel for each kind of contamination, a line for each head."""
    modes = list(dict.fromkeys(contamination for _, contamination in kinds(pools)))
    panels = np.atleast_1d(figure.subplots(1, len(modes), sharey=True))
    styles = dict(zip(KINDS, ("-", "--", ":"), strict=True))
    colours = ("#d55e00", "#0072b2", "#009e73")
    for panel, mode in zip(panels, modes, strict=True):
        heads = [algorithm for algorithm, contamination in kinds(pools) if contamination == mode]
        for algorithm, colour in zip(heads, colours, strict=False):
            own = with_clean(pools, algorithm, mode)
            percents = sorted({pool.percent for pool in own})
            for kind, style in styles.items():
                values = [cell(own, p, kind, lambda pool: pool.gain).value for p in percents]
                panel.plot(percents, values, style, color=colour, label=f"{algorithm}, {kind}")
        panel.axhline(0, color="#888888", lw=0.8)
        panel.set(title=mode, xlabel="foreign images (%)")
    panels[0].set_ylabel("gain over no pool (points)")
    panels[-1].legend(fontsize=6, frameon=False)
