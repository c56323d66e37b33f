"""Tables from the rows of `benchmarks.filter.evidence`: `python -m benchmarks.filter.summary`.

Writes results/filter/summary.md. Seeds are averaged first, then tasks and sources, so that every
pair of task and source counts the same.
"""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from benchmarks.filter.goals import goal_table
from mixmood.core.files import write_atomic
from mixmood.core.options import DEFAULT_SCORE
from mixmood.scores.registry import SCORES

RESULTS = Path(__file__).parents[2] / "results" / "filter"
PARTS = ("development", "report")
DISTANCES = (("far", "0"), ("near", "1"))

Row = dict[str, str]


def read(what: str, part: str) -> list[Row]:
    """The rows of one file; none if it was not computed."""
    path = RESULTS / f"{what}-{part}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def mean_over_places(rows: Iterable[Row], value: Callable[[Row], float]) -> float:
    """The mean over pairs of task and source of the mean over the rows of each."""
    places = defaultdict(list)
    for row in rows:
        places[row["task"], row["source"]].append(value(row))
    return float(np.mean([np.mean(values) for values in places.values()])) if places else np.nan


def auroc_tables(part: str) -> list[str]:
    """AUROC by score, then of the default score by task and source."""
    rows = read("auroc", part)
    lines = [f"## AUROC of the foreign half, {part} ({_n_seeds(rows)} seeds)", ""]
    lines += ["| score | far | near |", "|---|---|---|"]
    for name in SCORES:
        means = [
            mean_over_places(
                (r for r in rows if r["score"] == name and r["near"] == near),
                lambda r: float(r["auroc"]),
            )
            for _, near in DISTANCES
        ]
        lines.append(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    own = [r for r in rows if r["score"] == DEFAULT_SCORE]
    return [*lines, "", *_by_place(own), ""]


def _by_place(rows: list[Row]) -> list[str]:
    sources = sorted({r["source"] for r in rows})
    lines = [f"| {DEFAULT_SCORE}, task | " + " | ".join(sources) + " |"]
    lines.append("|---" * (len(sources) + 1) + "|")
    for task in dict.fromkeys(r["task"] for r in rows):
        cells = []
        for source in sources:
            values = [
                float(r["auroc"]) for r in rows if r["task"] == task and r["source"] == source
            ]
            mark = (
                " (near)"
                if any(r["near"] == "1" for r in rows if (r["task"], r["source"]) == (task, source))
                else ""
            )
            cells.append(f"{np.mean(values):.3f}{mark}" if values else "")
        lines.append(f"| {task} | " + " | ".join(cells) + " |")
    return lines


def share_tables(part: str) -> list[str]:
    """Bias, error and coverage of the useful share at each true share."""
    rows = read("share", part)
    lines = [f"## Useful share, {part} ({_n_seeds(rows)} seeds)", ""]
    header = "| classes of the pool | source | true share | n | mean estimate | bias | mean error |"
    lines += [header + " interval holds the truth | width | trustworthy |", "|---" * 10 + "|"]
    for classes in ("even", "uneven"):
        for word, near in DISTANCES:
            chosen = [r for r in rows if r["near"] == near and r["classes"] == classes]
            foreign = sorted({float(r["foreign_share"]) for r in chosen})
            groups = [
                (f"{1 - f:.0%}", [r for r in chosen if float(r["foreign_share"]) == f])
                for f in foreign
            ]
            if chosen:
                groups.append(("all", chosen))
            lines += [f"| {classes} | {word} | {name} | " + _share_cells(g) for name, g in groups]
    return [*lines, ""]


def _share_cells(rows: list[Row]) -> str:
    truth = np.array([1 - float(r["foreign_share"]) for r in rows])
    share, low, high = (np.array([float(r[k]) for r in rows]) for k in ("share", "low", "high"))
    holds = (low <= truth + 1e-9) & (truth <= high + 1e-9)
    trusted = np.mean([float(r["is_trustworthy"]) for r in rows])
    return (
        f"{len(rows)} | {share.mean():.2f} | {(share - truth).mean():+.2f} | "
        f"{np.abs(share - truth).mean():.2f} | {holds.mean():.0%} | {(high - low).mean():.2f} | "
        f"{trusted:.0%} |"
    )


def heads_tables(part: str) -> list[str]:
    """Accuracy by pool, and the kept part's gain over the whole pool by that of the oracle."""
    rows = read("heads", part)
    pools = [p for p in dict.fromkeys(r["pool"] for r in rows) if p != "none"]
    lines = [f"## Accuracy of heads in points, {part} ({_n_seeds(rows)} seeds)", ""]
    lines.append("| head | source | foreign | supervised | " + " | ".join(pools) + " | back |")
    lines.append("|---" * (len(pools) + 5) + "|")
    for algorithm in dict.fromkeys(r["algorithm"] for r in rows if r["algorithm"] != "supervised"):
        for word, near in DISTANCES:
            chosen = [r for r in rows if r["near"] == near]
            for foreign in [*sorted({r["foreign_share"] for r in chosen}), None]:
                part_rows = [r for r in chosen if foreign in (None, r["foreign_share"])]
                name = "all" if foreign is None else f"{float(foreign):.0%}"
                cells = _head_cells(part_rows, algorithm, pools)
                lines.append(f"| {algorithm} | {word} | {name} | {cells} |")
    return [*lines, ""]


def _head_cells(rows: list[Row], algorithm: str, pools: list[str]) -> str:
    means = {
        pool: mean_over_places(
            (r for r in rows if r["pool"] == pool and r["algorithm"] == name),
            lambda r: 100 * float(r["accuracy"]),
        )
        for pool, name in [("none", "supervised"), *((pool, algorithm) for pool in pools)]
    }
    gain = means["oracle"] - means["whole"]
    kept = means.get(f"kept {DEFAULT_SCORE}", np.nan) - means["whole"]
    back = f"{kept / gain:.0%}" if gain > 0 else "no gain"
    return " | ".join([*(f"{value:.1f}" for value in means.values()), back])


def points_back(rows: list[Row], algorithm: str, near: str, pool: str) -> float:
    """Points that a head gains if it is trained with a part of a pool instead of all of it."""
    own = [r for r in rows if r["near"] == near and r["algorithm"] == algorithm]
    whole, part = (
        mean_over_places((r for r in own if r["pool"] == name), lambda r: float(r["accuracy"]))
        for name in ("whole", pool)
    )
    return 100 * (part - whole)


def _n_seeds(rows: list[Row]) -> int:
    return len({r["seed"] for r in rows})


def main() -> None:
    """Write the tables of what was computed."""
    lines = ["# Evidence on the filter", ""]
    lines += ["Made by `python -m benchmarks.filter.summary` from the CSV files beside it.", ""]
    lines += goal_table(read, mean_over_places, DEFAULT_SCORE)
    tables = {"auroc": auroc_tables, "share": share_tables, "heads": heads_tables}
    for what, table in tables.items():
        for part in PARTS:
            if read(what, part):
                lines += table(part)
    write_atomic(RESULTS / "summary.md", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
