"""Fit the map from what the probe measures to points, on development tasks alone.

python -m benchmarks.probe.fit ROWS.jsonl            prints the table of points_table.py
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from benchmarks.heads.tasks import DEVELOPMENT
from mixmood.ranking.plan import PROBE_ALGORITHMS

NAMES = ("offset", "slope", "slope_share", "spread", "factor", "factor_unrest")
SOURCE = Path("src/mixmood/ranking/probe/points_table.py")


def columns(rows: list[dict], algorithm: str) -> dict[str, np.ndarray]:
    """What was measured of every case, and the mean of its true gains with its noise."""
    found = [row[algorithm] for row in rows]
    gains = np.array([one["gains"] for one in found])
    table = {key: np.array([one[key] for one in found]) for key in found[0] if key != "gains"}
    table["share"] = np.array([row["share"] for row in rows])
    # The truth is a mean of two: its noise is no error of the probe.
    noise = float(np.mean((gains[:, 0] - gains[:, 1]) ** 2) / 4)
    return {**table, "truth": gains.mean(axis=1), "noise": np.full(len(gains), noise)}


def fitted(table: dict[str, np.ndarray]) -> dict[str, float]:
    """Maximum likelihood of a normal error whose variance grows with the measured errors."""

    def loss(values: np.ndarray) -> float:
        offset, slope, slope_share, spread, factor, unrest = values
        mean = offset + slope * table["p_right"] + slope_share * table["share"]
        variance = (
            spread**2
            + (factor * table["error"]) ** 2
            + (unrest * table["unrest"]) ** 2
            + table["noise"]
        )
        return float((np.log(variance) + (table["truth"] - mean) ** 2 / variance).sum())

    best = min(
        (
            minimize(loss, start, method="L-BFGS-B", bounds=BOUNDS)
            for start in ([0, 0.3, 1, 1, 0.3, 0.1], [0, 0.5, 0, 0.5, 0.5, 0.3])
        ),
        key=lambda found: found.fun,
    )
    return dict(zip(NAMES, best.x.tolist(), strict=True))


BOUNDS = [(-5, 5), (0, 2), (0, 9), (0.2, 5), (0, 2), (0, 2)]


def main() -> None:
    """Write the table with its provenance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--write", action="store_true", help="Write points_table.py.")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()]
    if any(row["task"] not in DEVELOPMENT for row in rows):
        raise SystemExit("Only development tasks may be fitted on.")
    tables = {name: fitted(columns(rows, name)) for name in PROBE_ALGORITHMS}
    text = as_module(tables, rows)
    print(text)
    if given.write:
        SOURCE.write_text(text)


def as_module(tables: dict[str, dict[str, float]], rows: list[dict]) -> str:
    """The source of points_table.py."""
    seeds = len({row["seed"] for row in rows})
    labels = ", ".join(str(n) for n in sorted({row["n_labelled"] for row in rows}))
    tasks = len({row["task"] for row in rows})
    lines = [
        '"""The numbers of the map from probe to points. Written by `benchmarks.probe.fit`.',
        "",
        f"Fitted by maximum likelihood on {len(rows)} pools of {tasks} development tasks",
        f"(classes 0 to 4 of MNIST, FashionMNIST and CIFAR-10), {seeds} seeds, {labels} labels.",
        '"""',
        "",
        "POINTS: dict[str, dict[str, float]] = {",
    ]
    for name, table in tables.items():
        lines.append(f'    "{name}": {{')
        lines += [f'        "{key}": {value:.4g},' for key, value in table.items()]
        lines.append("    },")
    return "\n".join([*lines, "}", ""])


if __name__ == "__main__":
    main()
