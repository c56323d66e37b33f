"""The evidence on the probe: records and a summary in results/probe.

    python -m benchmarks.probe.evidence [--report R.jsonl] [--simulated S.jsonl] [--scratch N.jsonl]

Rows come from `benchmarks.probe.cases --part report`, `benchmarks.probe.simulated` and
`benchmarks.probe.scratch`, those of `--development` from `benchmarks.probe.cases`. They are kept in
results/probe; parts that are not given are read from there.
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
    oracle,
    pick_by_advice,
    predictors,
    truth,
)
from mixmood.core.files import write_atomic
from mixmood.core.options import PROBE_ALGORITHMS

OUT = Path("results/probe")
PARTS = ("report", "simulated", "scratch")
DIGITS = 4
MAIN_LABELS = 60


def judged(rows: list[dict], algorithm: str) -> dict:
    """Everything about one head, from rows of one number of labels."""
    groups = by_task_and_seed(rows)
    names = sorted({name for row in rows for name in predictors(row, algorithm)})
    return {
        "n_pools": len(rows),
        "n_tasks": len(groups),
        "n_task_seeds": sum(len(seeds) for seeds in groups.values()),
        "predictors": {name: agreement(groups, algorithm, name) for name in names},
        "advice as a pick": pick_by_advice(groups, algorithm),
        "oracle": oracle(groups, algorithm),
        "advice": advice_table(rows, algorithm),
        "probe": calibration(rows, algorithm),
    }


def summary_of(rows: list[dict]) -> dict:
    """By number of labels and head."""
    found = {}
    for n_labelled in sorted({row["n_labelled"] for row in rows}):
        for algorithm in PROBE_ALGORITHMS:
            some = [r for r in rows if r["n_labelled"] == n_labelled and algorithm in r]
            if some:
                found[f"{n_labelled} labels, {algorithm}"] = judged(some, algorithm)
    return found


def by_task(rows: list[dict], algorithm: str) -> dict:
    """The gain on each task alone: where it works and where it does not."""
    found = {}
    for task, seeds in by_task_and_seed([row for row in rows if algorithm in row]).items():
        own = [row for some in seeds.values() for row in some]
        found[task] = {
            "n_seeds": len(seeds),
            "right": round(float(np.mean([row["cv"] for row in own])), 1),
            "clean": round(
                float(np.mean([truth(r, algorithm) for r in own if not r["percent"]])), 2
            ),
            **agreement({task: seeds}, algorithm, "probe: gain"),
            "rmse_points": calibration(own, algorithm)["rmse_points"],
        }
    return found


def markdown(name: str, table: dict) -> list[str]:
    """One head and number of labels, as text."""
    lines = [
        f"### {name}: {table['n_pools']} pools of {table['n_task_seeds']} tasks and seeds",
        "",
        "| order by | Pearson | Spearman | regret, points | picks worse than no pool |",
        "|---|---|---|---|---|",
    ]
    by_regret = sorted(table["predictors"].items(), key=lambda one: one[1]["regret_points"]["mean"])
    for who, one in by_regret:
        lines.append(
            f"| {who} | {_mean(one['pearson'])} | {_mean(one['spearman'])} | "
            f"{_mean(one['regret_points'], 2)} | {_share(one['picks_worse_than_no_pool'])} |"
        )
    pick, best = table["advice as a pick"], table["oracle"]
    lines += [
        f"| advice (`use`, else no pool) | | | {_mean(pick['regret_points'], 2)} | "
        f"{_share(pick['picks_worse_than_no_pool'])} |",
        f"| oracle (one draw of the truth) | | | {_mean(best['regret_points'], 2)} | |",
        "",
    ]
    advice, probe = table["advice"], table["probe"]
    harm, used = advice["used_that_harm"], advice["worthwhile_that_are_used"]
    lines += [
        f"Advice: {advice['n_by_advice']}, mean true gain {advice['mean_gain_by_advice']}. Of "
        f"those to use, {harm['n']} of {harm['of']} harm by more than half a point; of those "
        f"that gain 2 points or more, {used['n']} of {used['of']} are to be used.",
        "",
        f"Intervals hold the truth in {probe['coverage_of_intervals']:.1%}; mean error "
        f"{probe['bias_points']:+.2f}, root mean square {probe['rmse_points']:.2f} points.",
        "",
        "| p_helps | pools | mean p_helps | helped |",
        "|---|---|---|---|",
    ]
    for span, one in probe["bins"].items():
        few = "" if one["n"] >= FILLED else " (few)"
        lines.append(f"| {span}{few} | {one['n']} | {one['p_helps']} | {one['helped']} |")
    return [*lines, ""]


def _mean(value: dict, digits: int = 3) -> str:
    if value["mean"] is None:
        return "-"
    low, high = value["interval"]
    return f"{value['mean']:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _share(value: dict) -> str:
    return "-" if value["mean"] is None else f"{value['mean']:.0%}"


def rounded(value: object) -> object:
    """Numbers with few digits: the file stays small."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def main() -> None:
    """Write rows and summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    for part in (*PARTS, "development"):
        parser.add_argument(f"--{part}", type=Path)
    given = parser.parse_args()
    lines, summary = ["# What a pool gains: the evidence", ""], {}
    OUT.mkdir(parents=True, exist_ok=True)
    for part in (*PARTS, "development"):
        if (new := getattr(given, part)) is not None:
            text = "".join(json.dumps(rounded(row)) + "\n" for row in read_rows(new))
            write_atomic(OUT / f"{part}.jsonl.gz", gzip.compress(text.encode(), mtime=0))
    for part in PARTS:
        packed = OUT / f"{part}.jsonl.gz"
        if not packed.exists():
            continue
        rows = read_rows(packed)
        if part == "report" and any(row["task"] not in REPORT for row in rows):
            raise SystemExit("Only report tasks are reported on.")
        summary[part] = summary_of(rows)
        if part == "report":
            some = [row for row in rows if row["n_labelled"] == MAIN_LABELS]
            summary["by task"] = by_task(some, PROBE_ALGORITHMS[0])
        lines += [f"## {part}", ""]
        for name, table in summary[part].items():
            lines += markdown(name, table)
    write_atomic(OUT / "summary.json", json.dumps(summary, indent=1) + "\n")
    write_atomic(OUT / "summary.md", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
