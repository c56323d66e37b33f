"""What studies share: the words that they are started with, their shares, the form of tables."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

N_RESAMPLED = 2000


def study_parser(text: str | None) -> argparse.ArgumentParser:
    """Takes the folder of features and the file of rows; `text` says what is studied."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("features", type=Path)
    parser.add_argument("rows", type=Path)
    return parser


def table(head: str, rows: Iterable[Iterable[object]]) -> list[str]:
    """A table in Markdown; `head` has its columns between bars."""
    lines = [f"| {head} |", "|" + "---|" * (head.count("|") + 1)]
    return lines + [f"| {' | '.join(map(str, row))} |" for row in rows]


def share_with_interval(
    rows: Sequence[dict],
    is_hit: Callable[[dict], bool],
    is_counted: Callable[[dict], bool] = lambda row: True,
) -> tuple[float, float, float]:
    """The share of hits among the rows that count, and its 95 % interval; NaN if none counts.

    The interval resamples tasks, then seeds of a task, never rows: pools of a task and seed have
    their labelled and test images in common.
    """
    units: dict[str, dict[str, list[int]]] = {}
    for one in rows:
        unit = units.setdefault(one["task"], {}).setdefault(str(one["seed"]), [0, 0])
        if is_counted(one):
            unit[0] += is_hit(one)
            unit[1] += 1
    tasks = [np.array(list(own.values())) for own in units.values()]
    hits, n = sum(own.sum(axis=0) for own in tasks)
    if not n:
        return np.nan, np.nan, np.nan
    rng, shape = np.random.default_rng(0), (N_RESAMPLED, len(tasks))
    # For every resample and place of a task: the sums over seeds that are drawn again.
    drawn = np.stack(
        [own[rng.integers(0, len(own), (*shape, len(own)))].sum(axis=2) for own in tasks]
    )
    rows, places = np.arange(N_RESAMPLED)[:, None], np.arange(len(tasks))
    found = drawn[rng.integers(0, len(tasks), shape), rows, places].sum(axis=1)
    found = found[found[:, 1] > 0]
    low, high = np.quantile(found[:, 0] / found[:, 1], [0.025, 0.975])
    return float(hits / n), float(low), float(high)


def percent_with_interval(share: tuple[float, float, float], digits: int = 0) -> str:
    """As printed in tables.

    >>> percent_with_interval((0.022, 0.004, 0.041), 1)
    '2.2% (0.4 to 4.1)'
    """
    value, low, high = (round(100 * one, digits) + 0.0 for one in share)
    return f"{value:.{digits}f}% ({low:.{digits}f} to {high:.{digits}f})"
