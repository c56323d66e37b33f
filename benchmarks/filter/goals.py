"""The goals of the filter compared with the results on report tasks."""

from collections.abc import Callable, Iterable

import numpy as np

Row = dict[str, str]
Read = Callable[[str, str], list[Row]]
Mean = Callable[[Iterable[Row], Callable[[Row], float]], float]

FAR, NEAR = "0", "1"


def goal_table(read: Read, mean: Mean, default_score: str) -> list[str]:
    """One row for each goal: what was wanted, what was measured, whether it is reached."""
    lines = [
        "## Goals, report tasks",
        "",
        "| what | goal | measured | reached |",
        "|---|---|---|---|",
    ]
    lines += _auroc_rows(read("auroc", "report"), mean, default_score)
    lines += _share_rows(read("share", "report"))
    lines += _head_rows(read("heads", "report"), mean, default_score)
    return [*lines, ""]


def _line(what: str, goal: float, value: float, form: str = ".2f", *, at_most: bool = False) -> str:
    is_reached = value <= goal if at_most else value >= goal
    sign = "<=" if at_most else ">="
    return f"| {what} | {sign} {goal:{form}} | {value:{form}} | {'yes' if is_reached else 'no'} |"


def _auroc_rows(rows: list[Row], mean: Mean, default_score: str) -> list[str]:
    return [
        _line(
            f"AUROC, {word} sources",
            goal,
            mean(
                (r for r in rows if r["score"] == default_score and r["near"] == near),
                lambda r: float(r["auroc"]),
            ),
            ".3f",
        )
        for word, near, goal in (("far", FAR, 0.98), ("near", NEAR, 0.9))
    ]


def _share_rows(rows: list[Row]) -> list[str]:
    far = [r for r in rows if r["near"] == FAR]
    near = [r for r in rows if r["near"] == NEAR]
    trusted = [r for r in near if float(r["is_trustworthy"])]
    doubted = [r for r in near if not float(r["is_trustworthy"])]
    errors = share_errors(far)
    return [
        _line("mean error of the share, far sources", 0.1, float(errors.mean()), at_most=True),
        f"| far pools whose share is within 10 points | | {(errors <= 0.1).mean():.0%} | |",
        _line("interval holds the truth, far sources", 0.9, covered(far), ".0%"),
        _line("interval holds the truth, near sources", 0.9, covered(near), ".0%"),
        f"| ... of {len(trusted)} near pools called trustworthy | | {covered(trusted):.0%} | |",
        f"| ... of {len(doubted)} others | | {covered(doubted):.0%} | |",
    ]


def _miss(row: Row) -> float:
    return float(row["share"]) - (1 - float(row["foreign_share"]))


def share_errors(rows: list[Row]) -> np.ndarray:
    """How far each estimated share is from the true one."""
    return np.array([abs(_miss(r)) for r in rows])


def holds(row: Row) -> bool:
    """Whether the interval of the share holds the true one."""
    true = 1 - float(row["foreign_share"])
    return float(row["low"]) <= true + 1e-9 and true <= float(row["high"]) + 1e-9


def covered(rows: list[Row]) -> float:
    """How often the interval of the share holds the true one."""
    return float(np.mean([holds(row) for row in rows])) if rows else np.nan


def _head_rows(rows: list[Row], mean: Mean, default_score: str) -> list[str]:
    lines = []
    algorithms = dict.fromkeys(r["algorithm"] for r in rows if r["algorithm"] != "supervised")
    for word, near, goal in (("far", FAR, 0.9), ("near", NEAR, 0.6)):
        kept_sum = oracle_sum = 0.0
        for algorithm in algorithms:
            own = [r for r in rows if r["near"] == near and r["algorithm"] == algorithm]
            whole, oracle, kept = (
                mean((r for r in own if r["pool"] == pool), lambda r: 100 * float(r["accuracy"]))
                for pool in ("whole", "oracle", f"kept {default_score}")
            )
            name = f"{algorithm}, {word}: points that the oracle / the kept part gives back"
            part = f" ({(kept - whole) / (oracle - whole):.0%})" if oracle > whole else ""
            values = f"{oracle - whole:+.2f} / {kept - whole:+.2f}{part}"
            lines.append(f"| {name} | | {values} | |")
            kept_sum, oracle_sum = kept_sum + kept - whole, oracle_sum + oracle - whole
        lines.append(
            _line(f"{word} sources, all heads: part given back", goal, kept_sum / oracle_sum, ".0%")
        )
    return lines
