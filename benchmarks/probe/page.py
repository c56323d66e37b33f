"""The tables of "What a pool gains" in docs/results.md, from results/probe/summary.json.

    python -m benchmarks.probe.page

A table stands between `<!-- gains NAME -->` and `<!-- end -->`; the text around it is not touched.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

from benchmarks.probe.judge import FILLED
from mixmood.core.files import write_atomic

ROOT = Path(__file__).parents[2]
SUMMARY, PAGE = ROOT / "results" / "probe" / "summary.json", ROOT / "docs" / "results.md"
MAIN = "60 labels, mixmatch"
NOT_RUN = ["Not run yet."]


def mean(value: dict, digits: int = 2, with_interval: bool = True) -> str:
    """A mean with its interval."""
    if value["mean"] is None:
        return ""
    words = f"{value['mean']:.{digits}f}"
    low, high = value["interval"]
    return f"{words} ({low:.{digits}f} to {high:.{digits}f})" if with_interval else words


def heading(columns: str) -> list[str]:
    """The head of a table whose columns are parted by `|`."""
    return [f"| {columns} |", "|---" * (columns.count("|") + 1) + "|"]


def share(found: dict) -> str:
    """A share with its counts."""
    return (
        "none" if found["share"] is None else f"{found['share']:.0%} ({found['n']}/{found['of']})"
    )


def orders(summary: dict, n_labelled: int) -> list[str]:
    """What orders the pools best, with this many labels."""
    table = summary["report"][f"{n_labelled} labels, mixmatch"]
    lines = [
        f"{table['n_tasks']} tasks, {table['n_task_seeds']} tasks and seeds, {table['n_pools']} "
        "pools.",
        "",
        *heading("order by | Pearson | Spearman | regret, points | picks worse than no pool"),
    ]
    found = table["predictors"]
    for who in sorted(found, key=lambda name: -(found[name]["pearson"]["mean"] or 0)):
        one = found[who]
        lines.append(
            f"| {who} | {mean(one['pearson'])} | {mean(one['spearman'])} | "
            f"{mean(one['regret_points'])} | {one['picks_worse_than_no_pool']['mean']:.0%} |"
        )
    pick = table["advice as a pick"]
    return [
        *lines,
        f"| advice: the best to use, or none | | | {mean(pick['regret_points'])} | "
        f"{pick['picks_worse_than_no_pool']['mean']:.0%} |",
        f"| oracle, one draw of the truth | | | {mean(table['oracle']['regret_points'])} | |",
    ]


def heads(summary: dict) -> list[str]:
    """Every number of labels and head in a line."""
    lines = heading(
        "labels, head | pools | Pearson | Spearman | regret (oracle) | of `use`, harm > 0.5 points "
        "| of gains >= 2 points, `use` | intervals that contain the truth | mean error"
    )
    for name, table in summary["report"].items():
        gain, advice, probe = table["predictors"]["probe: gain"], table["advice"], table["probe"]
        regret = mean(gain["regret_points"], with_interval=False)
        best = mean(table["oracle"]["regret_points"], with_interval=False)
        lines.append(
            f"| {name} | {table['n_pools']} | {mean(gain['pearson'], with_interval=False)} | "
            f"{mean(gain['spearman'], with_interval=False)} | {regret} ({best}) | "
            f"{share(advice['used_that_harm'])} | {share(advice['worthwhile_that_are_used'])} | "
            f"{probe['coverage_of_intervals']:.0%} | {probe['bias_points']:+.1f} |"
        )
    return lines


def chances(summary: dict, part: str) -> list[str]:
    """How often pools help, by what p_helps says."""
    if part not in summary:
        return NOT_RUN
    lines = heading("`p_helps` | pools | mean `p_helps` | helped")
    probe = summary[part][MAIN]["probe"]
    for span, one in probe["bins"].items():
        few = "" if one["n"] >= FILLED else ", few"
        lines.append(f"| {span} | {one['n']}{few} | {one['p_helps']:.2f} | {one['helped']:.2f} |")
    return [
        f"{summary[part][MAIN]['n_pools']} pools; intervals contain the truth in "
        f"{probe['coverage_of_intervals']:.0%}, mean error {probe['bias_points']:+.2f} points, "
        f"root mean square {probe['rmse_points']:.2f}.",
        "",
        *lines,
    ]


def tasks(summary: dict) -> list[str]:
    """Where the gain is predicted well, and where it is not; 60 labels, mixmatch."""
    lines = heading(
        "task | seeds | right without a pool | true gain of the clean pool | Pearson | Spearman "
        "| regret, points | root mean square error"
    )
    for name, one in summary["by task"].items():
        numbers = [
            mean(one[key], with_interval=False) for key in ("pearson", "spearman", "regret_points")
        ]
        lines.append(
            f"| {name} | {one['n_seeds']} | {one['right']:.0f} % | {one['clean']:+.1f} | "
            f"{' | '.join(numbers)} | {one['rmse_points']:.1f} |"
        )
    return lines


def scratch(summary: dict) -> list[str]:
    """Networks from scratch: does the order carry over?"""
    if "scratch" not in summary:
        return NOT_RUN
    table = summary["scratch"][MAIN]
    lines = [
        f"{table['n_task_seeds']} tasks and seeds, {table['n_pools']} pools.",
        "",
        *heading("order by | Pearson | Spearman | regret, points"),
    ]
    for who, one in table["predictors"].items():
        lines.append(
            f"| {who} | {mean(one['pearson'])} | {mean(one['spearman'])} | "
            f"{mean(one['regret_points'])} |"
        )
    return lines


TABLES: dict[str, Callable[[dict], list[str]]] = {
    "orders": lambda summary: orders(summary, 60),
    "orders 20": lambda summary: orders(summary, 20),
    "orders 150": lambda summary: orders(summary, 150),
    "heads": heads,
    "chances": lambda summary: chances(summary, "report"),
    "simulated": lambda summary: chances(summary, "simulated"),
    "tasks": tasks,
    "scratch": scratch,
}


def filled(text: str, summary: dict) -> str:
    """The page with its tables as the summary has them."""

    def block(match: re.Match[str]) -> str:
        lines = TABLES[match[1]](summary)
        return "\n".join([f"<!-- gains {match[1]} -->", "", *lines, "", "<!-- end -->"])

    return re.sub(r"<!-- gains ([a-z0-9 ]+) -->\n.*?<!-- end -->", block, text, flags=re.DOTALL)


def main() -> None:
    """Fill the page."""
    summary = json.loads(SUMMARY.read_text(encoding="utf-8"))
    write_atomic(PAGE, filled(PAGE.read_text(encoding="utf-8"), summary))


if __name__ == "__main__":
    main()
