"""Tables, goals and the figure of the view: `python -m benchmarks.view.summary`.

Reads results/view/*.jsonl (`benchmarks.view.accuracy`) and results/filter/auroc-report.csv
(`benchmarks.filter.evidence`); writes results/view/README.md and docs/images/view.svg.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from scipy import stats

from benchmarks.filter import summary as filters
from benchmarks.filter.material import OTHER
from benchmarks.heads.tasks import OLD_VIEW
from mixmood.core.files import write_atomic
from mixmood.core.options import DEFAULT_SCORE
from mixmood.evidence.accuracy import SPREAD, accuracy_interval
from mixmood.features.backbones.view import DEPTHS, RESOLUTIONS, View

ROOT = Path(__file__).parents[2]
RESULTS, FIGURE = ROOT / "results" / "view", ROOT / "docs" / "images" / "view.svg"
OLD = str(OLD_VIEW)
DRAWN = {
    "pets last 7": "photographs of breeds",
    "cifar10 5-9": "CIFAR-10",
    "fashion_product": "Fashion Product",
    "mnist 5-9": "MNIST",
    "fashion_mnist 5-9": "FashionMNIST",
    "svhn": "SVHN, house numbers",
}
SHOWN_LABELS = 60
OLD_NEAR_AUROC = 0.867
"""Of the same pools but those of photographs, in the old view."""

OPENING = """\
# How much the view matters, and how well it is chosen

    python -m benchmarks.heads.features PACKS FEATURES    # once: features of the packs
    python -m benchmarks.view.accuracy FEATURES results/view/report.jsonl
    python -m benchmarks.view.accuracy FEATURES results/view/development.jsonl --part development
    python -m benchmarks.filter.evidence FEATURES report auroc --seeds 10
    python -m benchmarks.view.summary                     # this page, docs/images/view.svg

Each takes about eight minutes of one core. Tasks that had no part in any choice, five seeds.
Percent of test images that the supervised head classifies correctly. Best in hindsight: the view
with the highest accuracy on the test images of each task and seed. Intervals are paired, over
seeds.
"""
WIDTH = f"""\
An interval is that of independent images, with a standard error `spread` times as large. It is
{SPREAD}: the smallest tenth at which 95 % of the intervals on development tasks hold the accuracy
on test images. Of those that miss on report tasks, nearly all are too low: a fold has
fewer labels than the final head, and with 20 labels that costs 5 points on average.
"""
AUROC = """\
The probability that a useful image of a half foreign pool scores above a foreign one; 60 labels,
56 of photographs.
"""

Row = dict


def chosen(row: Row) -> float:
    """The accuracy of the chosen view."""
    return float(row["accuracies"][row["chosen"]])


def gain(row: Row) -> float:
    """Chosen minus old view, in points."""
    return chosen(row) - float(row["accuracies"][OLD])


def short_of_best(row: Row) -> float:
    """Best view of this task and seed minus the chosen one, in points."""
    return max(row["accuracies"].values()) - chosen(row)


def is_covered(row: Row, spread: float = SPREAD) -> bool:
    """Whether the interval of the nested accuracy holds the accuracy on test images."""
    right = np.full(row["n_labelled"], row["nested"] / 100)
    found = accuracy_interval(right, spread=spread)
    return found.low <= chosen(row) / 100 <= found.high


def by_task(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each task."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["task"], []).append(row)
    return found


def with_interval(rows: list[Row]) -> str:
    """The mean gain over tasks, and its 95 % interval over seeds (Student's t)."""
    seeds = sorted({row["seed"] for row in rows})
    means = [np.mean([gain(row) for row in rows if row["seed"] == seed]) for seed in seeds]
    low, high = stats.t.interval(0.95, len(means) - 1, np.mean(means), stats.sem(means))
    return f"{np.mean(means):+.1f} ({low:+.1f} to {high:+.1f})"


def goal_table(rows: list[Row]) -> list[str]:
    """What was wanted, what was measured, and whether it was met."""
    lines = ["| what | labels | goal | measured | met |", "|---|---|---|---|---|"]
    for n_labelled, goal in ((20, 6.0), (60, 6.0), (150, None)):
        own = [row for row in rows if row["n_labelled"] == n_labelled]
        mean = float(np.mean([gain(row) for row in own]))
        lines.append(
            f"| mean gain over {OLD}, points | {n_labelled} | {f'>= {goal:g}' if goal else ''} | "
            f"{with_interval(own)} | {_met(mean >= goal) if goal else ''} |"
        )
    for n_labelled in (20, 60, 150):
        own = [row for row in rows if row["n_labelled"] == n_labelled]
        gains = {
            task: float(np.mean([gain(r) for r in found])) for task, found in by_task(own).items()
        }
        worst = min(gains, key=lambda task: gains[task])
        lines.append(
            f"| gain of the worst task, points | {n_labelled} | >= -1 | {gains[worst]:+.1f} "
            f"({worst}) | {_met(gains[worst] >= -1)} |"
        )
    for n_labelled, goal in ((20, None), (60, 1.5), (150, None)):
        own = [row for row in rows if row["n_labelled"] == n_labelled]
        mean = float(np.mean([short_of_best(row) for row in own]))
        lines.append(
            f"| below the best view in hindsight, points | {n_labelled} | "
            f"{f'<= {goal}' if goal else ''} | {mean:.1f} | {_met(mean <= goal) if goal else ''} |"
        )
    breeds = [r for r in rows if r["task"] == "pets last 7" and r["n_labelled"] == SHOWN_LABELS]
    right = float(np.mean([chosen(row) for row in breeds]))
    lines.append(
        f"| photographs of breeds, % right | 60 | >= 95 | {right:.1f} | {_met(right >= 95)} |"
    )
    cover = float(np.mean([is_covered(row) for row in rows]))
    lines.append(
        f"| interval of the nested accuracy holds the test accuracy | all | 95 % | {cover:.0%} of "
        f"{len(rows)} | {_met(cover >= 0.95)} |"
    )
    return lines + auroc_goals()


def auroc_goals() -> list[str]:
    """How well filter finds near foreign images in the chosen view."""
    near = [
        r
        for r in filters.read("auroc", "report")
        if r["score"] == DEFAULT_SCORE and r["near"] == "1"
    ]
    lines = []
    for words, own in (
        ("near foreign images, AUROC of filter", [r for r in near if r["task"] != "pets"]),
        ("... with photographs of breeds", near),
    ):
        value = filters.mean_over_places(own, lambda r: float(r["auroc"]))
        goal = f">= 0.90 ({OLD_NEAR_AUROC} in {OLD})" if own is not near else ""
        lines.append(
            f"| {words} | 60 | {goal} | {value:.3f} | {_met(value >= 0.9) if goal else ''} |"
        )
    return lines


def _met(is_met: bool) -> str:
    return "yes" if is_met else "**no**"


def task_table(rows: list[Row]) -> list[str]:
    """A line for each number of labels and task, means over seeds."""
    lines = [
        f"| labels | task | {OLD} | chosen | best in hindsight | views that were chosen | covers |",
        "|---|---|---|---|---|---|---|",
    ]
    for n_labelled in sorted({row["n_labelled"] for row in rows}):
        own = [row for row in rows if row["n_labelled"] == n_labelled]
        for task, found in [*by_task(own).items(), ("mean of tasks", own)]:
            views = sorted({row["chosen"] for row in found}) if found is not own else []
            means = [
                np.mean([row["accuracies"][OLD] for row in found]),
                np.mean([chosen(row) for row in found]),
                np.mean([max(row["accuracies"].values()) for row in found]),
            ]
            cells = " | ".join(f"{mean:.1f}" for mean in means)
            covers = np.mean([is_covered(row) for row in found])
            lines.append(f"| {n_labelled} | {task} | {cells} | {'; '.join(views)} | {covers:.0%} |")
    return lines


def auroc_table() -> list[str]:
    """The AUROC for other classes of the same data, and for near data sets."""
    rows = [r for r in filters.read("auroc", "report") if r["score"] == DEFAULT_SCORE]
    near = [r for r in rows if r["near"] == "1"]
    lines = ["| task | near foreign images | AUROC | seeds |", "|---|---|---|---|"]
    for task, source in dict.fromkeys((r["task"], r["source"]) for r in near):
        values = [float(r["auroc"]) for r in near if (r["task"], r["source"]) == (task, source)]
        words = "other classes of the same data" if source == OTHER else source
        lines.append(f"| {task} | {words} | {np.mean(values):.3f} | {len(values)} |")
    return lines


def figure(rows: list[Row]) -> Figure:
    """Accuracy by resolution and depth on six tasks; a ring is the mean of the chosen views."""
    drawn = Figure(figsize=(9, 5), layout="constrained")
    grid = drawn.subplots(2, 3, sharex=True)
    own = by_task(row for row in rows if row["n_labelled"] == SHOWN_LABELS)
    colours = dict(zip(DEPTHS, ("#1b6ca8", "#d1495b", "#66a182"), strict=True))
    for axes, (task, words) in zip(grid.flat, DRAWN.items(), strict=True):
        for depth, colour in colours.items():
            means = [
                np.mean([row["accuracies"][str(View(side, depth))] for row in own[task]])
                for side in RESOLUTIONS
            ]
            axes.plot(RESOLUTIONS, means, "o-", color=colour, label=depth, markersize=4)
        axes.axhline(
            np.mean([chosen(row) for row in own[task]]),
            color="black",
            ls="--",
            lw=1,
            label="chosen",
        )
        axes.set_title(words, fontsize=10)
        axes.set_xticks(RESOLUTIONS)
        axes.grid(alpha=0.3)
    for axes in grid[:, 0]:
        axes.set_ylabel("% right, 60 labels")
    for axes in grid[1]:
        axes.set_xlabel("pixels a side")
    grid[0, 0].legend(fontsize=8)
    return drawn


def spread_table(parts: dict[str, list[Row]]) -> list[str]:
    """How often intervals hold the accuracy on test images, by their width."""
    lines = ["| spread | development | report |", "|---|---|---|"]
    for spread in (1.0, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0):
        cells = [np.mean([is_covered(row, spread) for row in rows]) for rows in parts.values()]
        lines.append(f"| {spread:g} | " + " | ".join(f"{cell:.1%}" for cell in cells) + " |")
    return lines


def main() -> None:
    """Write the page and the figure."""
    parts = {
        part: [json.loads(line) for line in (RESULTS / f"{part}.jsonl").read_text().splitlines()]
        for part in ("development", "report")
    }
    rows = parts["report"]
    lines = [
        *OPENING.splitlines(),
        "## Goals",
        "",
        *goal_table(rows),
        "",
        "## Accuracy",
        "",
        *task_table(rows),
        "",
        "## The width of the interval",
        "",
        *WIDTH.splitlines(),
        "",
        *spread_table(parts),
        "",
        "## Near foreign images, by `filter` in the chosen view",
        "",
        *AUROC.splitlines(),
        "",
        *auroc_table(),
        "",
    ]
    write_atomic(RESULTS / "README.md", "\n".join(lines))
    with rc_context({"svg.hashsalt": "view"}):
        figure(rows).savefig(FIGURE, metadata={"Date": None})
    print("\n".join(lines))


if __name__ == "__main__":
    main()
