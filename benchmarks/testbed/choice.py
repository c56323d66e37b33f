"""Which measure should rank where none is asked for? Chosen on development tasks.

The rule, written before any number was seen: the measure with the highest mean correlation
(Pearson, within a task and seed, over all pools) with the gain of a head, averaged over the three
heads that use a pool. On development tasks it named CHOSEN. A condition was added then, before any
report task was looked at: CHOSEN takes the place of the paper's `cosine` if its correlation is
higher on report tasks too, by more than the interval of the difference. Report tasks have the gain
of the default head alone.
`benchmarks.testbed.page` writes the tables.
"""

import csv
import gzip
import json
from pathlib import Path

import numpy as np

from benchmarks.testbed.choice_rows import ALGORITHMS, PARTS
from benchmarks.testbed.units import (
    Mean,
    Unit,
    best,
    chosen,
    mean_correlation,
    mean_over,
    pearson,
    spearman,
)
from mixmood.measures.registry import MEASURES

Rows = list[dict[str, str]]
CHOSEN, PAPER = "classifier", "cosine"


def units_of(path: Path) -> dict[Unit, Rows]:
    """The rows of a file by task and seed."""
    found: dict[Unit, Rows] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["task"], int(row["seed"])), []).append(row)
    return found


def seeds_of(folder: Path) -> set[int]:
    """The seeds of the development rows of a folder."""
    path = folder / "development.csv"
    return {seed for _, seed in units_of(path)} if path.exists() else set()


def probe_units(path: Path) -> dict[Unit, Rows]:
    """The rows of `benchmarks.probe.cases`, which have the same tasks, with 60 labels."""
    found: dict[Unit, Rows] = {}
    for text in gzip.decompress(path.read_bytes()).decode().splitlines():
        case = json.loads(text)
        if case["n_labelled"] != 60 or "distances" not in case:
            continue
        gains = {f"gain_{n}": np.mean(case[n]["gains"]) for n in ALGORITHMS if n in case}
        row = {**case["distances"], **gains, "percent": case["percent"]}
        place = case["task"], int(case["seed"])
        found.setdefault(place, []).append({key: str(value) for key, value in row.items()})
    return found


def heads_of(units: dict[Unit, Rows]) -> tuple[str, ...]:
    """The heads whose gain every row has."""
    rows = [row for own in units.values() for row in own]
    return tuple(name for name in ALGORITHMS if all(f"gain_{name}" in row for row in rows))


def column(rows: Rows, name: str) -> np.ndarray:
    """A column as numbers."""
    return np.array([float(row[name]) for row in rows])


def mean_pearson(units: dict[Unit, Rows], measure: str, heads: tuple[str, ...]) -> Mean:
    """The mean correlation of nearness (minus distance) with the gain."""

    def own(rows: Rows) -> float:
        near = -column(rows, measure)
        return float(np.mean([pearson(near, column(rows, f"gain_{head}")) for head in heads]))

    return mean_correlation({unit: own(rows) for unit, rows in units.items()}, "tasks")


def difference(units: dict[Unit, Rows], measure: str, heads: tuple[str, ...]) -> Mean:
    """How much higher the correlation is than that of the paper's measure, pair by pair."""

    def apart(rows: Rows, head: str) -> float:
        gain = column(rows, f"gain_{head}")
        return pearson(-column(rows, measure), gain) - pearson(-column(rows, PAPER), gain)

    found = {u: float(np.mean([apart(r, head) for head in heads])) for u, r in units.items()}
    return mean_over(found, "tasks")


def line(units: dict[Unit, Rows], measure: str, heads: tuple[str, ...]) -> list[str]:
    """A row of the table."""
    words = [mean_pearson(units, measure, heads).text()]
    words.append(difference(units, measure, heads).text(sign=True))
    words += [mean_pearson(units, measure, (h,)).text() for h in heads] if len(heads) > 1 else []
    gain = f"gain_{heads[0]}"
    foreign = {u: [row for row in rows if row["percent"] == "100"] for u, rows in units.items()}
    for own in (units, foreign):
        found = {u: spearman(-column(r, measure), column(r, gain)) for u, r in own.items()}
        words.append(mean_correlation(found, "tasks").text())
    mixed = {u: [row for row in rows if row["percent"] != "0"] for u, rows in units.items()}
    lost = {
        u: best(column(r, gain)) - chosen(-column(r, measure), column(r, gain))
        for u, r in mixed.items()
    }
    return [measure, *words, mean_over(lost, "tasks", 0.0).text(1)]


def table(units: dict[Unit, Rows], title: str) -> list[str]:
    """One part in Markdown, the best measure first."""
    heads = heads_of(units)
    order = sorted(MEASURES, key=lambda name: -mean_pearson(units, name, heads).value)
    what = "mean of heads" if len(heads) > 1 else heads[0]
    head = ["measure", f"Pearson, {what}", f"minus that of {PAPER}"]
    head += [f"Pearson, {name}" for name in heads] if len(heads) > 1 else []
    head += [f"Spearman, {heads[0]}", "Spearman, wholly foreign pools"]
    head += [f"regret, {heads[0]} (points)"]
    n_pools = sum(map(len, units.values()))
    tasks, seeds = {task for task, _ in units}, {seed for _, seed in units}
    size = f"{len(tasks)} tasks, {len(seeds)} seeds, {n_pools} pools"
    return [
        f"## {title}",
        "",
        f"{size}; 95 % intervals over tasks. Distances are taken negative: 1 would be perfect.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(line(units, name, heads)) + " |" for name in order),
        "",
    ]


def summary(folder: Path) -> str:
    """The tables of the parts that are there; report tasks may come from the cases of the probe."""
    lines, cases = [], folder.parent / "probe" / "report.jsonl.gz"
    for part in PARTS:
        path = folder / f"{part}.csv"
        if path.exists():
            lines += table(units_of(path), f"{part.capitalize()} tasks")
        elif part == "report" and cases.exists():
            lines += table(probe_units(cases), "Report tasks")
    if not lines:
        raise FileNotFoundError(f"{folder} has no rows.")
    return "\n".join(lines)
