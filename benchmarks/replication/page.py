"""Writes the tables, the verdict and the figure of docs/replication.md from results/replication.

    python -m benchmarks.replication.page

A table is between `<!-- NAME -->` and `<!-- end -->`; it is replaced, and the text around it is not
changed. A test bed of which runs are missing says so, and has no numbers. The rule is that of the
page, written before. `benchmarks.replication.records` publishes the runs of stores.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.replication.records import CENTRAL, RESULTS, beds, published
from benchmarks.testbed import claims, predictors
from benchmarks.testbed.records import pools_of, read_rows, units_of
from benchmarks.testbed.restore import records_in
from benchmarks.testbed.written import filled
from mixmood.core.files import write_atomic
from mixmood.testbed.analysis.agreement import (
    ARMS,
    MEAN,
    ArmAgreementRow,
    agreement_rows,
    arm_agreement_rows,
)
from mixmood.testbed.analysis.tables import paper_table
from mixmood.testbed.cells import cells as grid_cells
from mixmood.testbed.cells import runs
from mixmood.testbed.record import RunRecord

ROOT = Path(__file__).parents[2]
PAGE, FIGURE = ROOT / "docs" / "replication.md", ROOT / "docs" / "images" / "replication.svg"
NOISES = ("gaussian", "salt_and_pepper")
TASKS = ("mnist", "cifar10", "fashion_mnist")
EPOCHS = ("best", "last")
MOST_NOISE, MOST_CLEAN, MOST_R, LEAST_R = -8.0, 2.0, -0.75, -0.4
"""The rule's limits: points on noise and on clean pools, r in the arm and in arm A."""
VERDICTS = {
    "B": "The pool's statistics explain the collapse.",
    "C": "The batch-norm statistics of the guesses explain the collapse.",
    "D": "Both, the pool's statistics and the batch-norm of the guesses, are needed.",
}
Records = Sequence[RunRecord]


def headed(*names: str) -> list[str]:
    """The first two lines of a table."""
    return [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]


def whole(name: str) -> list[RunRecord]:
    """The runs of a test bed; none unless all of them are published."""
    found = published(name)
    return found if len(found) == len(runs(beds()[name])) else []


def progress(name: str) -> str:
    """How many runs of an unfinished test bed there are."""
    return f"not finished: {len(published(name))} of {len(runs(beds()[name]))} runs"


def accuracy(record: RunRecord, arm: str, epoch: str) -> float:
    """Test accuracy in points."""
    return 100 * record.in_arm(arm).accuracy.by(epoch)


def on(records: Records, sources: Sequence[str], task: str | None = None) -> list[RunRecord]:
    """Runs with pools that are wholly of these sources (`none`: clean), of one task or of all."""
    return [
        record
        for record in records
        if record.run.source in sources
        and record.run.percent in (0, 100)
        and task in (None, record.run.task)
    ]


def difference(records: Records, arm: str, epoch: str) -> tuple[float, float]:
    """The mean of arm - A in points, pairs of one training, and its standard error."""
    return mean_and_error([accuracy(r, arm, epoch) - accuracy(r, "A", epoch) for r in records])


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error; NaN if there are too few values."""
    if not values:
        return math.nan, math.nan
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(np.mean(values)), float(error)


def correlation(rows: Sequence[ArmAgreementRow], task: str, arm: str, epoch: str, measure: str):
    """The row of a task or of the mean of the tasks."""
    wanted = (task, arm, epoch, measure)
    found = [row for row in rows if (row.task, row.arm, row.epoch, row.measure) == wanted]
    return found[0] if found else None


def plus_minus(pair: tuple[float, float]) -> str:
    """A difference in points with its standard error."""
    return f"{pair[0]:+.1f} ± {pair[1]:.1f}"


def with_interval(row: ArmAgreementRow | None) -> str:
    """r with its interval."""
    if row is None or row.pearson is None:
        return "-"
    ends = "" if row.pearson_interval is None else " [{:.2f}, {:.2f}]".format(*row.pearson_interval)
    return f"{row.pearson:.2f}{ends}"


def rule(records: Records) -> list[str]:
    """The numbers of the rule by arm, and its verdict."""
    rows = arm_agreement_rows(records)
    lines = [
        "| arm | epoch | arm - A, 100 % noise (points) | arm - A, clean pools (points) | "
        "r of cosine, mean of tasks | meets the rule |",
        "|---|---|---|---|---|---|",
    ]
    met = []
    for epoch in EPOCHS:
        base = correlation(rows, MEAN, "A", epoch, "cosine")
        for arm in ARMS:
            row = correlation(rows, MEAN, arm, epoch, "cosine")
            noise, clean = (
                difference(on(records, sources), arm, epoch) for sources in (NOISES, ("none",))
            )
            is_met = (
                arm != "A"
                and row is not None
                and noise[0] <= MOST_NOISE
                and abs(clean[0]) <= MOST_CLEAN
                and row.pearson <= MOST_R
                and base.pearson >= LEAST_R
            )
            met += [arm] if is_met and epoch == "best" else []
            cells = ["-", "-"] if arm == "A" else [plus_minus(noise), plus_minus(clean)]
            word = "" if arm == "A" else "yes" if is_met else "no"
            lines.append(
                f"| {arm} | {epoch} | {' | '.join(cells)} | {with_interval(row)} | {word} |"
            )
    verdict = VERDICTS[met[0]] if met else "Not explained, by the rule."
    return [f"**{verdict}**", "", *lines]


def full_size(records: Records) -> list[str]:
    """The rule, the paper's drops and the correlations for images of their full side."""
    if not records:
        return [f"`full-size` is {progress('full-size')}."]
    parts = [rule(records), collapse(records), correlations(records)]
    return [line for part in parts for line in (*part, "")][:-1]


def cells(records: Records) -> list[str]:
    """Tables 1 and 2: accuracy by arm and the cosine distance, each beside the paper's."""
    accuracies, distances = paper_table("table1_accuracy"), paper_table("table2_distances")
    lines = headed("task", "type", "pool, %", *ARMS, "paper", "cosine", "paper's cosine")
    for cell in grid_cells(beds()[CENTRAL]):
        own = [record for record in records if record.cell == cell]
        means = [f"{np.mean([accuracy(r, arm, 'best') for r in own]):.1f}" for arm in ARMS]
        ours = np.mean([(record.distances or {})["cosine"].distance for record in own])
        theirs = distances.get((cell.task, cell.source, cell.percent, "cosine"))
        words = [cell.task, cell.ood_type or "-", f"{cell.source} {cell.percent:g}", *means]
        words.append(f"{100 * accuracies[cell.task, cell.source, cell.percent, 60]:.1f}")
        words += [f"{ours:.1f}", "-" if theirs is None else f"{theirs:.1f}"]
        lines.append(f"| {' | '.join(words)} |")
    return lines


def collapse(records: Records) -> list[str]:
    """How much of the paper's drop from the clean pool is reached on pools of noise."""
    paper = paper_table("table1_accuracy")
    lines = headed("task", "pool", "paper's drop (points)", "reached by A", "by B", "by D")
    for task in TASKS:
        for source in NOISES:
            theirs = 100 * (paper[task, "none", 0.0, 60] - paper[task, source, 100.0, 60])
            clean, noise = (on(records, (one,), task) for one in ("none", source))
            shares = [
                np.mean([accuracy(r, arm, "best") for r in clean])
                - np.mean([accuracy(r, arm, "best") for r in noise])
                for arm in "ABD"
            ]
            words = " | ".join(f"{share / theirs:.0%}" for share in shares)
            lines.append(f"| {task} | {source} | {theirs:.1f} | {words} |")
    return lines


def correlations(records: Records) -> list[str]:
    """Table 3 by arm beside the paper's: cosine in each task, every measure on their mean."""
    rows, paper = arm_agreement_rows(records), paper_table("table3_correlations")
    lines = headed("task", "measure", *ARMS, "paper")
    wanted = [(task, "cosine") for task in TASKS]
    wanted += [(MEAN, measure) for measure in ("cosine", "js", "l1", "l2")]
    for task, measure in wanted:
        found = [correlation(rows, task, arm, "best", measure) for arm in ARMS]
        tasks = TASKS if task == MEAN else (task,)
        theirs = np.mean([paper[one, 60, measure] for one in tasks])
        words = " | ".join(map(with_interval, found))
        lines.append(f"| {task} | {measure} | {words} | {theirs:.2f} |")
    return lines


def r_with_paper(records: Records, task: str, arm: str) -> float:
    """Pearson's r of our accuracies, means over seeds, and the paper's cosine distances."""
    found: dict[tuple[str, float], list[float]] = {}
    for record in records:
        if record.run.task == task and record.run.percent:
            cell = record.run.source, record.run.percent
            found.setdefault(cell, []).append(accuracy(record, arm, "best"))
    theirs = paper_table("table2_distances")
    distances = [theirs[task, *cell, "cosine"] for cell in found]
    return float(np.corrcoef([np.mean(own) for own in found.values()], distances)[0, 1])


def paper_distances() -> list[str]:
    """r of our accuracies with the paper's distances, at half and at full size."""
    tables = {"half": whole(CENTRAL), "full": whole("full-size")}
    paper = paper_table("table3_correlations")
    lines = headed("task", *(f"{arm}, {size} size" for size in tables for arm in "ABD"), "paper")
    columns = [[r_with_paper(own, task, arm) for own in tables.values() if own for arm in "ABD"]
               for task in TASKS]  # fmt: skip
    for task, own in zip((*TASKS, MEAN), [*columns, np.mean(columns, axis=0)], strict=True):
        tasks = TASKS if task == MEAN else (task,)
        theirs = np.mean([paper[one, 60, "cosine"] for one in tasks])
        lines.append(f"| {task} | {' | '.join(f'{r:.2f}' for r in own)} | {theirs:.2f} |")
    return lines


def claimed(n_labelled: int = 60) -> list[str]:
    """The paper's claims in arms A, B and D; runs without a pool are those of `algorithms`."""
    rows = read_rows(RESULTS / CENTRAL)
    alone = [
        row | {"accuracy_test": row["accuracy_best"]}
        for row in read_rows(RESULTS / "algorithms")
        if row["algorithm"] == "supervised-updates"
    ]
    columns = {}
    for arm in "ABD":
        tested = [row | {"accuracy_test": row[f"arm_{arm}_best"]} for row in rows]
        units = units_of(pools_of([*alone, *tested]), str(n_labelled), "mixmatch")
        columns[arm] = claims.numbers(predictors.whole(units))
    return claims.table(columns, n_labelled)


def fingerprints(records: Records, more: Records) -> list[str]:
    """Which noise is worse, and what more labels change."""
    lines = headed("task", "B with Gaussian noise", "B with salt and pepper", "worse")
    for task in TASKS:
        values = [
            np.mean([accuracy(r, "B", "best") for r in on(records, (noise,), task)])
            for noise in NOISES
        ]
        worse = NOISES[int(np.argmin(values))].replace("_", " ")
        lines.append(f"| {task} | {values[0]:.1f} | {values[1]:.1f} | {worse} |")
    if not more:
        return [*lines, "", f"`labels-150` is {progress('labels-150')}."]
    lines += ["", "| pools | arm | change from 60 to 150 labels (points) |", "|---|---|---|"]
    for name, sources in (("clean", ("none",)), ("100 % noise", NOISES)):
        for arm in ARMS:
            changes = [
                accuracy(late, arm, "best") - accuracy(early, arm, "best")
                for late in on(more, sources)
                for early in on(records, sources, late.run.task)
                if (early.run.source, early.run.seed) == (late.run.source, late.run.seed)
            ]
            lines.append(f"| {name} | {arm} | {plus_minus(mean_and_error(changes))} |")
    return lines


def variants() -> list[str]:
    """B - A and D - A where one thing is changed."""
    lines = headed("runs", "B - A, noise", "D - A, noise", "B - A, clean", "noise cells")
    for name in (CENTRAL, "loss", "full-size", "text-noise", "labels-150", "all-settings"):
        records = whole(name)
        noise, clean = on(records, NOISES), on(records, ("none",))
        if not noise:
            lines.append(f"| `{name}` | {progress(name)} | | | |")
            continue
        words = [plus_minus(difference(noise, arm, "best")) for arm in "BD"]
        words.append(plus_minus(difference(clean, "B", "best")) if clean else "-")
        lines.append(f"| `{name}` | {' | '.join(words)} | {len(noise)} |")
    return lines


def ways(name: str) -> list[str]:
    """Gain over training without the pool by algorithm, pool size and percentage; r of cosine."""
    records = whole(name)
    if not records:
        return [f"`{name}` is {progress(name)}."]
    base = {
        (record.run.task, record.run.seed): record.accuracy.by("best")
        for record in records
        if record.run.is_supervised
    }
    gains: dict[tuple[int | None, str], dict[float, list[float]]] = {}
    for record in records:
        run = record.run
        if not run.is_supervised and (run.task, run.seed) in base:
            points = 100 * (record.accuracy.by("best") - base[run.task, run.seed])
            own = gains.setdefault((run.n_unlabelled, run.algorithm), {})
            own.setdefault(run.percent, []).append(points)
    rows = agreement_rows(records, "best")
    lines = headed(
        "pool", "algorithm", "clean", "50 % foreign", "100 % foreign", "r of cosine, mean of tasks"
    )
    for (size, algorithm), own in sorted(
        gains.items(), key=lambda one: (one[0][0] or 0, one[0][1])
    ):
        words = [plus_minus(mean_and_error(own.get(percent, []))) for percent in (0, 50, 100)]
        r = [
            row.pearson
            for row in rows
            if (row.n_unlabelled, row.algorithm, row.measure) == (size, algorithm, "cosine")
            and row.pearson is not None
        ]
        mean = f"{np.mean(r):.2f}" if r else "-"
        lines.append(f"| {size or 1000} | {algorithm} | {' | '.join(words)} | {mean} |")
    return lines


def updates() -> list[str]:
    """Accuracy of clean pools and of Gaussian noise with more updates, in arms A and B."""
    lines = headed("updates", "clean, A", "Gaussian noise, A", "Gaussian noise, B", "runs")
    for n, name in ((1008, CENTRAL), (2016, "updates-x2"), (4032, "updates-x4")):
        clean, noise = (on(whole(name), (one,)) for one in ("none", "gaussian"))
        if not (clean and noise):
            lines.append(f"| {n} | {progress(name)} | | | |")
            continue
        words = [
            f"{np.mean([accuracy(record, arm, 'best') for record in own]):.1f}"
            for own, arm in ((clean, "A"), (noise, "A"), (noise, "B"))
        ]
        lines.append(f"| {n} | {' | '.join(words)} | {len(clean) + len(noise)} |")
    return lines


def untrained() -> list[str]:
    """Do distances of the authors' untrained network resemble the paper's Table 2?"""
    found: dict[tuple[str, str, float], list[float]] = {}
    for record in records_in(ROOT / "results" / "untrained"):
        run = record.run
        if (run.n_labelled, run.algorithm) == (60, "mixmatch") and run.percent:
            distance = (record.distances or {})["cosine"].distance
            found.setdefault((run.task, run.source, run.percent), []).append(distance)
    ours = {cell: float(np.mean(values)) for cell, values in found.items()}
    theirs = {cell: paper_table("table2_distances")[(*cell, "cosine")] for cell in ours}
    words = []
    for task in TASKS:
        own = [cell for cell in ours if cell[0] == task]
        r = np.corrcoef([ours[cell] for cell in own], [theirs[cell] for cell in own])[0, 1]
        words.append(f"{r:.2f} ({task})")
    halves = [cell[:2] for cell in ours if cell[2] == 50]
    farther = [
        sum(one[(*cell, 50)] > one[(*cell, 100)] for cell in halves) for one in (ours, theirs)
    ]
    return [
        f"Its cosine distances and those of Table 2 have a correlation of {', '.join(words)}. A "
        f"pool that is half foreign is farther than one that is wholly foreign in {farther[0]} of "
        f"{len(halves)} pairs; in the paper in {farther[1]}."
    ]


def figure(records: Records) -> None:
    """r of cosine by arm: each task, their mean, and the paper's."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    rows, paper = arm_agreement_rows(records), paper_table("table3_correlations")
    drawn = Figure(figsize=(6.4, 3.4), layout="constrained")
    FigureCanvasSVG(drawn)
    axes = drawn.subplots()
    for shift, task in enumerate((*TASKS, MEAN)):
        found = [correlation(rows, task, arm, "best", "cosine") for arm in ARMS]
        places = [place + 0.12 * (shift - 1.5) for place in range(len(ARMS))]
        values = [math.nan if row is None else row.pearson for row in found]
        (line,) = axes.plot(places, values, "o" if task != MEAN else "D", label=task)
        for place, row in zip(places, found, strict=True):
            if row is not None and row.pearson_interval is not None:
                axes.plot([place, place], row.pearson_interval, color=line.get_color())
        if task != MEAN:
            axes.plot(len(ARMS) + 0.12 * (shift - 1.5), paper[task, 60, "cosine"], "o",
                      color=line.get_color())  # fmt: skip
    axes.axhline(0, color="grey", linewidth=0.6)
    axes.set_xticks(range(len(ARMS) + 1), [*ARMS, "paper"])
    axes.set(ylim=(-1.05, 1.05), ylabel="r of cosine and accuracy", xlabel="arm")
    axes.legend(fontsize="small")
    with rc_context({"svg.hashsalt": FIGURE.stem}):  # the same names in the file every time
        drawn.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    """Replace the tables of the page."""
    central = whole(CENTRAL)
    if not central:
        raise SystemExit(f"{CENTRAL} is {progress(CENTRAL)}. Publish its runs first.")
    tables = {
        "rule": lambda: rule(central),
        "cells": lambda: cells(central),
        "collapse": lambda: collapse(central),
        "correlations": lambda: correlations(central),
        "paper-distances": paper_distances,
        "claims": claimed,
        "fingerprints": lambda: fingerprints(central, whole("labels-150")),
        "variants": variants,
        "full-size": lambda: full_size(whole("full-size")),
        "untrained": untrained,
        "algorithms": lambda: ways("algorithms"),
        "pool-size": lambda: ways("pool-size"),
        "updates": updates,
    }
    write_atomic(PAGE, filled(PAGE.read_text(encoding="utf-8"), tables))
    figure(central)


if __name__ == "__main__":
    main()
