"""Accuracy with class weights in both losses, as in the paper's code, and in the labelled one only.

python -m benchmarks.testbed.variants results
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.testbed.records import accuracy_of, read_rows
from benchmarks.testbed.units import Unit, mean_over

BEDS = ("digits", "paper-small")
Place = tuple[str, str, str, str]
"""Task, labels, source and percentage."""


def accuracies(folder: Path) -> dict[Place, dict[Unit, float]]:
    """Accuracy of the last epoch of each cell of MixMatch, by task and seed."""
    found: dict[Place, dict[Unit, float]] = {}
    for row in read_rows(folder):
        if row["algorithm"] == "mixmatch":
            place = row["task"], row["n_labelled"], row["ood_source"], row["ood_percent"]
            found.setdefault(place, {})[row["task"], int(row["seed"])] = accuracy_of(row)
    return found


def lines(results: Path) -> list[str]:
    """One row a cell; the difference is over the seeds that both have."""
    made = []
    for name in BEDS:
        try:
            both, labelled = (accuracies(results / part) for part in (name, f"{name}-labelled"))
        except FileNotFoundError:
            made += [f"`{name}-labelled`: not run yet.", ""]
            continue
        made += [
            f"| `{name}`: task | labels | pool | both losses | labelled loss only | difference "
            "(points) | lowest of both | lowest of labelled only | seeds |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for place, mine in labelled.items():
            theirs = both.get(place, {})
            shared = sorted(mine.keys() & theirs.keys())
            if not shared:
                continue
            a, b = (np.array([values[unit] for unit in shared]) for values in (theirs, mine))
            apart = mean_over({unit: mine[unit] - theirs[unit] for unit in shared}, "seeds")
            task, n_labelled, source, percent = place
            words = (task, n_labelled, f"{source} {float(percent or 0):g} %", f"{a.mean():.1f}")
            words += (f"{b.mean():.1f}", apart.text(1, sign=True), f"{a.min():.1f}")
            made.append("| " + " | ".join([*words, f"{b.min():.1f}", str(len(shared))]) + " |")
        made.append("")
    return made


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    print("\n".join(lines(parser.parse_args().results)))


if __name__ == "__main__":
    main()
