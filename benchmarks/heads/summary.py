"""The evidence as tables: `python -m benchmarks.heads.summary RUNS results/heads`.

Writes every row to `development.csv` and `report.csv` and the means to `summary.md`. Intervals
resample tasks, then seeds within a task; pools of one task and seed stay together.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.heads.evidence import HEADER
from mixmood.core.seeds import rng_for

HEADS = ("supervised", "pseudo-label", "mixmatch", "propagation", "auto")
PEERS = ("SelfTraining", "LabelSpreading")
N_RESAMPLES = 4000

Row = dict[str, str]
ByTask = dict[str, dict[str, list[float]]]


def read(folder: Path) -> list[Row]:
    """All rows of all finished tasks."""
    rows: list[Row] = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as file:
            rows.extend(csv.DictReader(file))
    return rows


def accuracies(rows: list[Row]) -> dict[tuple[str, ...], dict[str, float]]:
    """Accuracy of each head by (task, labels, seed, source, percent)."""
    found: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for row in rows:
        place = tuple(row[key] for key in ("task", "n_labelled", "seed", "source", "percent"))
        found[place][row["head"]] = float(row["accuracy"])
    return dict(found)


def by_task_and_seed(places: dict[tuple[str, ...], float]) -> ByTask:
    """Differences grouped for the resampling: task, then seed."""
    found: ByTask = defaultdict(lambda: defaultdict(list))
    for (task, _, seed, *_), value in places.items():
        found[task][seed].append(value)
    return found


def interval(differences: ByTask) -> tuple[float, float, float]:
    """Mean over tasks, and the middle 95 % over resampled tasks and seeds."""
    rng = rng_for(0, "summary")
    # Rounding apart, the mean of a seed is over its pools, that of a task over its seeds.
    tasks = [np.array([np.mean(v) for v in seeds.values()]) for seeds in differences.values()]
    draws = []
    for _ in range(N_RESAMPLES):
        picked = [tasks[i] for i in rng.integers(0, len(tasks), len(tasks))]
        draws.append(np.mean([rng.choice(task, len(task)).mean() for task in picked]))
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(np.mean([task.mean() for task in tasks])), float(low), float(high)


def points(differences: dict[tuple[str, ...], float]) -> str:
    """A difference in points with its interval, for a table."""
    mean, low, high = (100 * value for value in interval(by_task_and_seed(differences)))
    return f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"


def table(rows: list[Row]) -> list[str]:
    """Mean accuracy of every head, by number of labels and share of foreign images."""
    found = accuracies(rows)
    names = (*HEADS, *PEERS)
    lines = [f"| labels | foreign | tasks x seeds | {' | '.join(names)} |"]
    lines.append("|" + "---|" * (3 + len(names)))
    for n_labelled in sorted({place[1] for place in found}, key=int):
        for percent in ("0", "50", "100"):
            some = {p: v for p, v in found.items() if p[1] == n_labelled and p[4] == percent}
            if not some:
                continue
            cells = []
            for name in names:
                own = {place: value[name] for place, value in some.items() if name in value}
                mean = interval(by_task_and_seed(own))[0] if len(own) == len(some) else None
                cells.append("" if mean is None else f"{100 * mean:.1f}")
            n_cases = len({place[:3] for place in some})
            lines.append(f"| {n_labelled} | {percent} % | {n_cases} | {' | '.join(cells)} |")
    return lines


def claims(rows: list[Row]) -> list[str]:
    """What was to be shown, with paired intervals."""
    found = accuracies(rows)
    clean = {p: v for p, v in found.items() if p[4] == "0" and all(n in v for n in PEERS)}
    lines = []
    for peer in PEERS:
        ahead = {place: value["auto"] - value[peer] for place, value in clean.items()}
        lines.append(f"- auto minus {peer}, clean pools: {points(ahead)} points")
    gain = {place: value["auto"] - value["supervised"] for place, value in clean.items()}
    lines.append(f"- auto minus supervised, clean pools: {points(gain)} points")
    for percent in ("50", "100"):
        for source in sorted({place[3] for place in found if place[4] == percent}):
            some = {p: v for p, v in found.items() if p[3] == source and p[4] == percent}
            ahead = {place: value["auto"] - value["supervised"] for place, value in some.items()}
            lines.append(f"- auto minus supervised, {percent} % {source}: {points(ahead)} points")
    return [*lines, *estimates(rows), *times(rows)]


def estimates(rows: list[Row]) -> list[str]:
    """How true the reported accuracy of `auto` is."""
    own = [row for row in rows if row["head"] == "auto" and row["estimate"]]
    numbers = np.array(
        [[float(r[k]) for k in ("accuracy", "estimate", "low", "high")] for r in own]
    )
    covered = ((numbers[:, 2] <= numbers[:, 0]) & (numbers[:, 0] <= numbers[:, 3])).mean()
    bias = 100 * (numbers[:, 1] - numbers[:, 0]).mean()
    return [
        f"- nested estimate minus test accuracy: {bias:+.1f} points on average; "
        f"{100 * covered:.0f} % of its 95 % intervals hold the test accuracy ({len(own)} runs)"
    ]


def times(rows: list[Row]) -> list[str]:
    """Seconds of one core, from the same processes."""
    means = {}
    for name in ("auto", *PEERS):
        own = [float(r["cpu_s"]) for r in rows if r["head"] == name and r["percent"] == "0"]
        means[name] = float(np.mean(own))
    words = ", ".join(f"{name} {value:.2f} s" for name, value in means.items())
    ratio = means["SelfTraining"] / means["auto"]
    return [f"- processor time, clean pools: {words}; SelfTraining / auto = {ratio:.1f}"]


def main() -> None:
    """Write the two tables of rows and the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = read(options.runs)
    lines = ["# Heads on frozen features", "", "Accuracy on test images in percent.", ""]
    for which in ("report", "development"):
        own = [row for row in rows if row["set"] == which]
        if not own:
            continue
        with (options.out / f"{which}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, HEADER, lineterminator="\n")
            writer.writeheader()
            writer.writerows(own)
        lines += [f"## {which.capitalize()} tasks", "", *table(own), "", *claims(own), ""]
    (options.out / "summary.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
