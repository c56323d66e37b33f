"""Which measure should rank where none is asked for? Chosen on development tasks.

    python -m benchmarks.testbed.choice results/measures

The rule, written before any number was seen: the measure with the highest mean correlation
(Pearson, within a task and seed, over all pools) with the gain of a head, averaged over the three
heads that use a pool. The report tasks then only confirm or deny it: it takes the place of the
paper's `cosine` if its correlation is higher there too, by more than the interval of the
difference. On development tasks the rule named CHOSEN, before any report task was computed.
Writes `summary.md`.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from benchmarks.testbed.choice_rows import ALGORITHMS, PARTS
from benchmarks.testbed.units import Mean, Unit, best, chosen, mean_over, pearson, spearman
from mixmood.core.files.atomic import write_atomic
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


def column(rows: Rows, name: str) -> np.ndarray:
    """A column as numbers."""
    return np.array([float(row[name]) for row in rows])


def mean_pearson(units: dict[Unit, Rows], measure: str, heads: tuple[str, ...]) -> Mean:
    """The mean correlation of nearness (minus distance) with the gain."""
    return mean_over(
        {
            unit: float(
                np.mean(
                    [
                        pearson(-column(rows, measure), column(rows, f"gain_{head}"))
                        for head in heads
                    ]
                )
            )
            for unit, rows in units.items()
        },
        "tasks",
    )


def difference(units: dict[Unit, Rows], measure: str) -> Mean:
    """How much higher the correlation is than that of the paper's measure, pair by pair."""
    return mean_over(
        {
            unit: float(
                np.mean(
                    [
                        pearson(-column(rows, measure), column(rows, f"gain_{head}"))
                        - pearson(-column(rows, PAPER), column(rows, f"gain_{head}"))
                        for head in ALGORITHMS
                    ]
                )
            )
            for unit, rows in units.items()
        },
        "tasks",
    )


def line(units: dict[Unit, Rows], measure: str) -> list[str]:
    """A row of the table."""
    words = [mean_pearson(units, measure, ALGORITHMS).text()]
    words += [mean_pearson(units, measure, (head,)).text() for head in ALGORITHMS]
    words.insert(1, difference(units, measure).text(sign=True))
    gain = f"gain_{ALGORITHMS[0]}"
    foreign = {u: [row for row in rows if row["percent"] == "100"] for u, rows in units.items()}
    for own, statistic in ((units, spearman), (foreign, spearman)):
        found = {u: statistic(-column(r, measure), column(r, gain)) for u, r in own.items()}
        words.append(mean_over(found, "tasks").text())
    mixed = {u: [row for row in rows if row["percent"] != "0"] for u, rows in units.items()}
    lost = {
        u: best(column(r, gain)) - chosen(-column(r, measure), column(r, gain))
        for u, r in mixed.items()
    }
    return [measure, *words, mean_over(lost, "tasks", 0.0).text(1)]


def table(units: dict[Unit, Rows], title: str) -> list[str]:
    """One part in Markdown, the best measure first."""
    order = sorted(MEASURES, key=lambda name: -mean_pearson(units, name, ALGORITHMS).value)
    head = ["measure", "Pearson, mean of heads", f"minus that of {PAPER}"]
    head += [*(f"Pearson, {name}" for name in ALGORITHMS)]
    head += ["Spearman, mixmatch", "Spearman, wholly foreign pools", "regret, mixmatch (points)"]
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
        *("| " + " | ".join(line(units, name)) + " |" for name in order),
        "",
    ]


def summary(folder: Path) -> str:
    """The tables of the parts that are there."""
    lines = ["# The default measure", ""]
    found = [part for part in PARTS if (folder / f"{part}.csv").exists()]
    if not found:
        raise FileNotFoundError(f"{folder} has no rows.")
    for part in found:
        lines += table(units_of(folder / f"{part}.csv"), f"{part.capitalize()} tasks")
    return "\n".join(lines)


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    text = summary(folder)
    write_atomic(folder / "summary.md", text)
    print(text)


if __name__ == "__main__":
    main()
