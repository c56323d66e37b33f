"""The evidence as tables: `python -m benchmarks.heads.summary RUNS results/heads`.

Writes every row to `development.csv` and `report.csv` and the means to `summary.md`. Intervals
resample tasks, then seeds within a task; pools of one task and seed stay together.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

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


def by_task(rows: list[Row], networks: list[Row], n_labelled: str = "60") -> list[str]:
    """Mean accuracy on each task with a clean pool: every head, and the networks."""
    found = {
        place: value
        for place, value in accuracies(rows).items()
        if place[1] == n_labelled and place[4] == "0"
    }
    names = [name for name in (*HEADS, *PEERS) if any(name in v for v in found.values())]
    kinds = list(dict.fromkeys((row["model"], row["algorithm"]) for row in networks))
    titles = [*names, *(f"{model}, {algorithm} (seeds)" for model, algorithm in kinds)]
    lines = [f"| task | seeds | {' | '.join(titles)} |", "|" + "---|" * (2 + len(titles))]
    for task in dict.fromkeys(place[0] for place in found):
        own = {place[2]: value for place, value in found.items() if place[0] == task}
        cells = [f"{100 * np.mean([value[n] for value in own.values()]):.1f}" for n in names]
        for kind in kinds:
            ours = [row for row in networks if (row["model"], row["algorithm"]) == kind]
            cells.append(_network_cell([row for row in ours if row["task"] == task], own))
        lines.append(f"| {task} | {len(own)} | {' | '.join(cells)} |")
    return lines


def _network_cell(rows: list[Row], heads: dict[str, dict[str, float]]) -> str:
    """Accuracy of a network, and by how much it is ahead of two heads for the same seeds."""
    if not rows:
        return ""
    mean = 100 * np.mean([float(row["accuracy"]) for row in rows])
    ahead = [
        100 * np.mean([float(row["accuracy"]) - heads[row["seed"]][name] for row in rows])
        for name in ("supervised", "auto")
    ]
    return f"{mean:.1f} ({len(rows)}): supervised head {ahead[0]:+.1f}, auto {ahead[1]:+.1f}"


def claims(rows: list[Row]) -> list[str]:
    """The comparisons that were planned, with paired intervals."""
    found = accuracies(rows)
    clean = {p: v for p, v in found.items() if p[4] == "0" and all(n in v for n in PEERS)}
    gains = {place: value["auto"] - value["supervised"] for place, value in found.items()}
    lines = []
    for n_labelled in sorted({place[1] for place in clean}, key=int):
        for name in (*PEERS, "supervised"):
            ahead = {p: v["auto"] - v[name] for p, v in clean.items() if p[1] == n_labelled}
            lines.append(
                f"- {n_labelled} labels, clean pools: auto minus {name} {points(ahead)} points"
            )
    foreign = {place[4] for place in gains} - {"0"}
    for percent in sorted(foreign, key=int):
        some = {place: gain for place, gain in gains.items() if place[4] == percent}
        lines.append(
            f"- auto minus supervised, {percent} % foreign, all kinds: {points(some)} points"
        )
        for source in sorted({place[3] for place in some}):
            kind = {place: gain for place, gain in some.items() if place[3] == source}
            lines.append(f"    - {source}: {points(kind)}")
    return [*lines, *estimates(rows), *times(rows)]


def estimates(rows: list[Row]) -> list[str]:
    """The error of the reported accuracy of `auto`, by number of labels.

    Pools of one task and seed share their labelled images: what counts is how many sets of labelled
    images there are, so that the mean over the pools of each is taken first.
    """
    lines = []
    for n_labelled in sorted({row["n_labelled"] for row in rows}, key=int):
        sets: dict[tuple[str, str], list[tuple[float, bool]]] = defaultdict(list)
        for row in rows:
            if row["head"] == "auto" and row["estimate"] and row["n_labelled"] == n_labelled:
                true, value, low, high = (
                    float(row[key]) for key in ("accuracy", "estimate", "low", "high")
                )
                sets[row["task"], row["seed"]].append((value - true, low <= true <= high))
        means = np.array([np.mean(np.array(one, float), axis=0) for one in sets.values()])
        error = means[:, 0].std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.inf
        off, covered = 100 * means.mean(axis=0)
        lines.append(
            f"- {n_labelled} labels: cross-validated minus test accuracy {off:+.1f} ± "
            f"{100 * error:.1f} points; {covered:.0f} % of the 95 % intervals hold the test "
            f"accuracy ({len(means)} sets of labelled images)"
        )
    return lines


def times(rows: list[Row]) -> list[str]:
    """Seconds of one core, from the same processes."""
    lines = []
    for n_labelled in sorted({row["n_labelled"] for row in rows}, key=int):
        clean = [r for r in rows if r["percent"] == "0" and r["n_labelled"] == n_labelled]
        means = {
            name: float(np.mean([float(r["cpu_s"]) for r in clean if r["head"] == name]))
            for name in ("auto", *PEERS)
        }
        words = ", ".join(f"{name} {value:.2f} s" for name, value in means.items())
        ratio = means["SelfTraining"] / means["auto"]
        lines.append(
            f"- {n_labelled} labels: processor time with clean pools: {words}; "
            f"SelfTraining / auto = {ratio:.1f}"
        )
    return lines


def write_rows(path: Path, rows: list[Row]) -> None:
    """The rows as CSV, under the keys of the first."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Write the two tables of rows and the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--networks", type=Path, help="the folder of benchmarks.heads.networks")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = read(options.runs)
    networks = read(options.networks) if options.networks else []
    lines = ["# Heads on frozen features", "", "Accuracy on test images in percent.", ""]
    for which in ("report", "development"):
        own = [row for row in rows if row["set"] == which]
        if not own:
            continue
        write_rows(options.out / f"{which}.csv", own)
        lines += [f"## {which.capitalize()} tasks", "", *table(own), ""]
        lines += ["60 labels, clean pool:", "", *by_task(own, networks), "", *claims(own), ""]
    if networks:
        write_rows(options.out / "networks.csv", networks)
    (options.out / "summary.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
