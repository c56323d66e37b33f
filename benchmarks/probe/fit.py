"""Fit the map from what the probe measures to points, on development tasks alone.

    python -m benchmarks.probe.fit [ROWS.jsonl]                prints POINTS of evidence/gain.py

It also says how the map does on packs that it was not fitted on: each pack is left out in turn.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr

from benchmarks.probe.cases import read_rows
from benchmarks.probe.tasks import FITTED_ON
from mixmood.core.options import PROBE_ALGORITHMS
from mixmood.evidence.gain import POINTS, WIDTH

BOUNDS = {
    "offset": (-9, 9),
    "share": (-20, 20),
    "room": (-60, 60),
    "both": (-60, 60),
    "slope": (0, 2),
    "spread": (0.3, 9),
    "factor": (0, 2),
}
USUAL = np.array([3, 5, 20, 20, 0.5, 3, 1])
"""Sizes that the numbers usually have: those that the pools say nothing about stay small."""
START = [-1, 2, 0, 5, 0.3, 1, 0.5]
ROWS = Path("results/probe/development.jsonl.gz")
Table = dict[str, np.ndarray]


def columns(rows: list[dict], algorithm: str) -> Table:
    """What was measured of every case, and the mean of its true gains.

    The interval is for one draw of the pool and one training: how the true gains of a case differ
    from each other stays part of the error. (It was taken out once, as the mean over all cases:
    left-out intervals then held 86 % instead of 95 %.)
    """
    found = [row for row in rows if algorithm in row]
    gains = np.array([row[algorithm]["gains"] for row in found])
    table = {
        key: np.array([row[algorithm][key] for row in found], float)
        for key in ("p_right", "error", "unrest", "accuracy")
    }
    table["share"] = np.array([row["share"] for row in found])
    table["room"] = 1 - np.array([row["cv"] for row in found]) / 100
    groups = np.array([f"{row['task']}|{row['seed']}|{row['n_labelled']}" for row in found])
    packs = np.array([row["task"].split()[0] for row in found])
    return {
        **table, "truth": gains.mean(axis=1), "groups": groups, "packs": packs,
    }  # fmt: skip


def predicted(table: Table, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the gain: `mixmood.evidence.gain.gain_of` for many rows."""
    own = dict(zip(BOUNDS, values, strict=True))
    mean = own["offset"] + own["share"] * table["share"] + own["slope"] * table["p_right"]
    mean = mean + (own["room"] + own["both"] * table["share"]) * table["room"]
    return mean, own["spread"] ** 2 + (own["factor"] * table["error"]) ** 2


def fitted(table: Table, where: np.ndarray | None = None) -> np.ndarray:
    """Maximum likelihood of a normal error."""
    some = table if where is None else {key: value[where] for key, value in table.items()}

    def loss(values: np.ndarray) -> float:
        mean, variance = predicted(some, values)
        fit = float((np.log(variance) + (some["truth"] - mean) ** 2 / variance).sum())
        return fit + float(((values / USUAL) ** 2).sum())

    return np.asarray(minimize(loss, START, method="L-BFGS-B", bounds=list(BOUNDS.values())).x)


@dataclass(frozen=True)
class LeftOut:
    """How the map does on packs that it was not fitted on.

    Attributes:
        common: The share of the squared error that pools of a task and seed have in common.
        strange: The error that a pack adds by being another one: with it, intervals hold the
            truth of 95 % of the pools.
        words: The rest, for people.
    """

    common: float
    strange: float
    words: str
    mean: np.ndarray
    """The gain of every pool by a map that has not seen its pack."""
    error: np.ndarray
    """Its standard error."""


def left_out(table: Table) -> LeftOut:
    """The map judged on each pack by a fit without it."""
    mean, variance = np.empty_like(table["truth"]), np.empty_like(table["truth"])
    for pack in np.unique(table["packs"]):
        inside = table["packs"] == pack
        values = fitted(table, ~inside)
        some = {key: value[inside] for key, value in table.items()}
        mean[inside], variance[inside] = predicted(some, values)
    off = table["truth"] - mean
    strange = strange_error(off, variance)
    variance += strange**2
    correlations, shared, within = [], [], []
    for group in np.unique(table["groups"]):
        own = table["groups"] == group
        if own.sum() > 3 and mean[own].std() > 0 and table["truth"][own].std() > 0:
            correlations.append(np.corrcoef(mean[own], table["truth"][own])[0, 1])
            shared.append(off[own].mean())
            within.append(off[own].var(ddof=1))
    chance = ndtr(mean / np.sqrt(variance))
    brier = float(np.mean((chance - (table["truth"] > 0)) ** 2))
    n_each = len(off) / len(np.unique(table["groups"]))
    common = max(0.0, float(np.var(shared) - np.mean(within) / n_each))
    common /= common + float(np.mean(within))
    return LeftOut(
        common,
        strange,
        f"another pack adds {strange:.2f} to errors, "
        f"Pearson within a task and seed {np.mean(correlations):.3f}, "
        f"rmse {np.sqrt(np.mean(off**2)):.2f}, "
        f"coverage {np.mean(off**2 < WIDTH**2 * variance):.3f}, "
        f"error common to a task and seed {common:.2f} of its square, Brier {brier:.3f}",
        mean,
        np.sqrt(variance),
    )


def strange_error(off: np.ndarray, variance: np.ndarray) -> float:
    """The error that has to be added until 95 % of the misses lie within 1.96 errors."""
    needed = np.quantile(off**2 / WIDTH**2 - variance, 0.95)
    return float(np.sqrt(max(needed, 0.0)))


def shipped(values: np.ndarray, strange: float) -> dict[str, float]:
    """The fitted numbers by their names, with the error that a task of another pack adds."""
    found = dict(zip(BOUNDS, values.tolist(), strict=True))
    return found | {"spread": float(np.hypot(found["spread"], strange))}


def main() -> None:
    """Write the table with its provenance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, nargs="?", default=ROWS)
    given = parser.parse_args()
    rows = read_rows(given.rows)
    if any(row["task"] not in FITTED_ON for row in rows):
        raise SystemExit("Only development tasks may be fitted on.")
    tables = {}
    for name in PROBE_ALGORITHMS:
        table = columns(rows, name)
        unseen = left_out(table)
        tables[name] = shipped(fitted(table), unseen.strange) | {
            "common": unseen.common,
            "most_wrong": float(table["room"].max()),
        }
        print(f"{name}, {len(table['truth'])} pools, each pack left out: {unseen.words}")
    print(as_rows(tables, rows))


def as_rows(tables: dict[str, dict[str, float]], rows: list[dict]) -> str:
    """The rows of POINTS in `mixmood.evidence.gain`, and where they come from."""
    seeds = len({row["seed"] for row in rows})
    labels = ", ".join(str(n) for n in sorted({row["n_labelled"] for row in rows}))
    tasks = len({row["task"] for row in rows})
    lines = [f"{len(rows)} pools of {tasks} development tasks, {seeds} seeds, {labels} labels"]
    for name, table in tables.items():
        values = {key: f"{table[key]:.4g}" for key in POINTS[name]}
        lines.append(f'"{name}": ({", ".join(values.values())}),')
    return "\n".join(lines)


if __name__ == "__main__":
    main()
