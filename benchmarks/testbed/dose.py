"""Gain against the share of foreign images, for near and far sources.

Of the records of the preset `dose`; `benchmarks.testbed.page` writes it.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.testbed.records import Pool, pools_of, read_rows
from benchmarks.testbed.units import Mean, Unit, mean_over

KINDS = {
    "other half": lambda source: source == "other_half",
    "another data set": lambda source: source in ("svhn", "fashion_product", "tiny_imagenet"),
    "noise": lambda source: source in ("gaussian", "salt_and_pepper"),
}
TOTAL = "fixed-total"
SHOWN = ("cosine", "l2", "classifier", "useful share", "probe: expected gain")


def cell(pools: list[Pool], percent: float, kind: str, value: Callable[[Pool], float]) -> Mean:
    """A mean over the pools of one kind and percentage; the clean ones are of every kind."""
    found: dict[Unit, list[float]] = {}
    for pool in pools:
        if pool.percent == percent and (percent == 0 or KINDS[kind](pool.source)):
            unit = pool.row["task"], int(pool.row["seed"])
            found.setdefault(unit, []).append(value(pool))
    return mean_over({unit: float(np.mean(own)) for unit, own in found.items()}, "seeds")


def table(pools: list[Pool], rows: dict[str, Callable[[Pool], float]], digits: int) -> list[str]:
    """Rows of values against foreign shares."""
    percents = sorted({pool.percent for pool in pools})
    lines = [
        "| | source | " + " | ".join(f"{percent:g} %" for percent in percents) + " |",
        "|---|---|" + "---|" * len(percents),
    ]
    for name, value in rows.items():
        for kind in KINDS:
            words = [cell(pools, p, kind, value).text(digits) for p in percents]
            lines.append(f"| {name} | {kind} | " + " | ".join(words) + " |")
    return lines


def differences(pools: list[Pool]) -> list[str]:
    """Gain with a far source minus gain with the other half, at the same share."""
    percents = sorted({pool.percent for pool in pools if pool.percent})
    lines = [
        "| far source minus other half | " + " | ".join(f"{p:g} %" for p in percents) + " |",
        "|---|" + "---|" * len(percents),
    ]
    for kind in list(KINDS)[1:]:
        words = []
        for percent in percents:
            gain: dict[str, dict[Unit, float]] = {"near": {}, "far": {}}
            for pool in pools:
                unit = pool.row["task"], int(pool.row["seed"])
                if pool.percent == percent and KINDS[kind](pool.source):
                    gain["far"][unit] = pool.gain
                if pool.percent == percent and pool.source == "other_half":
                    gain["near"][unit] = pool.gain
            both = gain["near"].keys() & gain["far"].keys()
            found = {unit: gain["far"][unit] - gain["near"][unit] for unit in sorted(both)}
            words.append(mean_over(found, "seeds").text(1, sign=True))
        lines.append(f"| {kind} | " + " | ".join(words) + " |")
    return lines


def summary(folder: Path) -> str:
    """The curves of a folder."""
    pools = [p for p in pools_of(read_rows(folder)) if p.row.get("contamination", TOTAL) == TOTAL]
    lines = ["# Gain against the share of foreign images, pools of a fixed size", ""]
    for algorithm in dict.fromkeys(pool.row["algorithm"] for pool in pools):
        own = [pool for pool in pools if pool.row["algorithm"] == algorithm]
        n_seeds = len({pool.row["seed"] for pool in own})
        lines += [f"## {algorithm}", "", f"Points of accuracy, {n_seeds} seeds.", ""]
        lines += [*table(own, {"gain": lambda pool: pool.gain}, 1), "", *differences(own), ""]
    first = [pool for pool in pools if pool.row["algorithm"] == pools[0].row["algorithm"]]
    known = [name for name in SHOWN if name in first[0].predictors()]
    rows = {name: lambda pool, name=name: abs_or_same(pool, name) for name in known}
    lines += [f"## What predicts it ({pools[0].row['algorithm']})", "", *table(first, rows, 2), ""]
    return "\n".join(lines)


def abs_or_same(pool: Pool, name: str) -> float:
    """A predictor as it is printed: distances are positive."""
    distance = pool.number(f"{name}_distance")
    return pool.predictors()[name] if distance is None else distance
