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
Cells = dict[Place, dict[Unit, float]]
Pairs = dict[Unit, tuple[float, float]]
"""Accuracy with class weights in both losses, and in the labelled one only."""


def accuracies(folder: Path) -> Cells:
    """Accuracy of the last epoch of each cell of MixMatch, by task and seed."""
    found: Cells = {}
    for row in read_rows(folder):
        if row["algorithm"] == "mixmatch":
            place = row["task"], row["n_labelled"], row["ood_source"], row["ood_percent"]
            found.setdefault(place, {})[row["task"], int(row["seed"])] = accuracy_of(row)
    return found


def lines(results: Path) -> list[str]:
    """One row a cell, and one for all cells of a task; over the seeds that both have."""
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
            *_rows(both, labelled),
            "",
        ]
    return made


def _rows(both: Cells, labelled: Cells) -> list[str]:
    """The rows of a test bed, task by task."""
    pairs = {place: _paired(both.get(place, {}), mine) for place, mine in labelled.items()}
    made = []
    for task, n_labelled in dict.fromkeys(place[:2] for place in pairs):
        own = {place: pair for place, pair in pairs.items() if place[:2] == (task, n_labelled)}
        for (_, _, source, percent), pair in own.items():
            if pair:
                pool = f"{source} {float(percent or 0):g} %"
                made.append(_row((task, n_labelled, pool), pair))
        if whole := _means(list(own.values())):
            made.append(_row((task, n_labelled, f"mean of all {len(own)}"), whole))
    return made


def _paired(theirs: dict[Unit, float], mine: dict[Unit, float]) -> Pairs:
    """Both accuracies of the seeds that have both."""
    return {unit: (theirs[unit], mine[unit]) for unit in sorted(theirs.keys() & mine.keys())}


def _means(cells: list[Pairs]) -> Pairs:
    """The mean over all pools, of the seeds that have all of them."""
    whole = set.intersection(*(set(pairs) for pairs in cells))
    return {
        unit: tuple(np.mean([pairs[unit] for pairs in cells], axis=0)) for unit in sorted(whole)
    }


def _row(words: tuple[str, ...], pairs: Pairs) -> str:
    theirs, mine = np.array(list(pairs.values())).T
    apart = mean_over({unit: b - a for unit, (a, b) in pairs.items()}, "seeds")
    words += (f"{theirs.mean():.1f}", f"{mine.mean():.1f}", apart.text(1, sign=True))
    words += (f"{theirs.min():.1f}", f"{mine.min():.1f}", str(len(pairs)))
    return "| " + " | ".join(words) + " |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    print("\n".join(lines(parser.parse_args().results)))


if __name__ == "__main__":
    main()
