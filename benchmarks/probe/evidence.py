"""The evidence on the expected gain: rows and README.md in results/probe.

    python -m benchmarks.probe.evidence [--report R.jsonl] [--development D.jsonl]

Rows come from `benchmarks.probe.cases`. They are kept in results/probe; a part that is not given is
read from there.
"""

import argparse
import gzip
import json
from pathlib import Path

import numpy as np

from benchmarks.heads.tasks import REPORT
from benchmarks.probe.cases import read_rows
from benchmarks.probe.judge import (
    FILLED,
    advice_table,
    agreement,
    by_task_and_seed,
    calibration,
    facts,
    order_rows,
    truth,
    with_interval,
)
from benchmarks.study import table
from mixmood.core.files import write_atomic
from mixmood.core.options import PROBE_ALGORITHMS

OUT = Path(__file__).parents[2] / "results" / "probe"
REPORT_ROWS = OUT / "report.jsonl.gz"
DIGITS = 4
FEW = 4
"""Labels a class in the fourth column: 20 for five classes, 28 for seven."""

ORDERS = "order by | Pearson | Spearman | regret, points | picks worse than no pool"
TASKS = "task | right without a pool | gain of the clean pool | Pearson | Spearman | regret, points"
OPENING = """\
# What a pool gains, and how well that is predicted

    python -m benchmarks.heads.features PACKS FEATURES        # once: features of the packs
    python -m benchmarks.probe.harder PACKS FEATURES          # harder development tasks
    CASES="python -m benchmarks.probe.cases FEATURES"
    $CASES D.jsonl --part development --labels 60 --seeds 0 1 --mixed 4 --draws 0
    $CASES D.jsonl --part development --labels 20 --seeds 1 2 --mixed 4 --draws 0
    $CASES D.jsonl --part development --labels 150 --seeds 1 --mixed 4 --draws 0
    python -m benchmarks.probe.fit D.jsonl                    # the map, also without each pack
    python -m benchmarks.probe.rule D.jsonl                   # from which chance a pool is used
    $CASES R.jsonl --part report --labels 20 60 150 --seeds 1 2 3 4 6 7 8 9 11 12 --mixed 6
    $CASES R.jsonl --part report --labels 28 --tasks pets --seeds 1 2 3 4 6 7 8 9 11 12 --mixed 6
    python -m benchmarks.probe.evidence --report R.jsonl --development D.jsonl

About 15 minutes of one core for D, 70 for R. Seven report tasks, none of which had a part in the
fit. Numbers are computed within a task and seed and then averaged; intervals resample tasks, then
seeds, never pools. The true gain of a pool is the mean of two trainings on parts of 1,000 images.
Distances are those of the last layer, as a ranking takes them.

Tried on the development rows, each pack left out, and not taken: heavier tails for `p_helps` (log
loss 0.653 with normal errors; Student's t 0.654, 0.660, 0.768 with 7, 3, 1 degrees of freedom), and
a fit that knows that the pools of a labelled set have most of their error in common (Pearson 0.43
instead of 0.39, Spearman 0.33 instead of 0.35, larger errors).
"""


def columns_of(rows: list[dict]) -> dict[str, list[dict]]:
    """The rows by number of labels, and those with four labels a class."""
    found = {f"{n} labels": [r for r in rows if r["n_labelled"] == n] for n in (20, 60, 150)}
    found["4 a class"] = [r for r in rows if r["n_labelled"] == FEW * r["n_classes"]]
    return {name: own for name, own in found.items() if own}


def task_rows(rows: list[dict], algorithm: str) -> list[list[str]]:
    """The gain on each task alone: where it is predicted well and where it is not."""
    lines = []
    for task, seeds in by_task_and_seed(rows).items():
        own = [row for some in seeds.values() for row in some]
        gain = agreement({task: seeds}, algorithm, "probe: gain")
        clean = np.mean([truth(row, algorithm) for row in own if not row["percent"]])
        lines.append(
            [task, f"{np.mean([row['cv'] for row in own]):.0f} %", f"{clean:+.1f}",
             *(with_interval(gain[name]) for name in ("pearson", "spearman", "regret_points"))]
        )  # fmt: skip
    return lines


def page(rows: list[dict]) -> str:
    """The README of the results."""
    algorithm = PROBE_ALGORITHMS[0]
    lines = [OPENING]
    for name, own in columns_of(rows).items():
        lines += [f"## {name}, {algorithm}", ""]
        found = [[what, fact.text] for what, fact in facts(own, algorithm).items()]
        advice, probe = advice_table(own, algorithm), calibration(own, algorithm)
        found.append(["pools by advice", str(advice["n_by_advice"])])
        found.append(["their mean true gain", str(advice["mean_gain_by_advice"])])
        found.append(["root mean square error, points", f"{probe['rmse_points']:.2f}"])
        bins = [
            [span, f"{one['n']}{'' if one['n'] >= FILLED else ' (few)'}",
             f"{one['p_helps']:.2f}", "{:.2f} ({:.2f} to {:.2f})".format(*one["helped"])]
            for span, one in probe["bins"].items()
        ]  # fmt: skip
        tables = {
            "what | measured": found,
            ORDERS: order_rows(own, algorithm),
            "`p_helps` | pools | mean | helped (95 %)": bins,
            TASKS: task_rows(own, algorithm),
        }
        for head, body in tables.items():
            lines += [*table(head, body), ""]
    return "\n".join(lines)


def rounded(value: object) -> object:
    """Numbers with few digits: the file stays small."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def main() -> None:
    """Write rows and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    for part in ("report", "development"):
        parser.add_argument(f"--{part}", type=Path)
    given = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    for part, path in vars(given).items():
        if path is not None:
            text = "".join(json.dumps(rounded(row)) + "\n" for row in read_rows(path))
            write_atomic(OUT / f"{part}.jsonl.gz", gzip.compress(text.encode(), mtime=0))
    rows = read_rows(REPORT_ROWS)
    if any(row["task"] not in REPORT for row in rows):
        raise SystemExit("Only report tasks are reported on.")
    write_atomic(OUT / "README.md", page(rows))
    print(f"{OUT / 'README.md'} is written.")


if __name__ == "__main__":
    main()
