"""The published numbers of the paper, to be shown beside our own."""

import csv
import io
from functools import cache
from importlib.resources import files

from mixmood.testbed.analysis.groups import GroupKey
from mixmood.testbed.cells import Cell


@cache
def published_accuracies() -> dict[tuple[str, str, float, int], float]:
    """Table 1 by task, source, percent and number of labels; `supervised` is a source."""
    return {
        (
            r["task"],
            r["ood_source"] or "supervised",
            float(r["ood_percent"] or 0),
            int(r["n_labelled"]),
        ): float(r["accuracy_mean"])
        for r in _rows("table1_accuracy.csv")
    }


@cache
def published_distances() -> dict[tuple[str, str, float, str], float]:
    """Table 2 by task, source, percent and measure."""
    return {
        (r["task"], r["ood_source"], float(r["ood_percent"]), r["measure"]): float(
            r["distance_mean"]
        )
        for r in _rows("table2_distances.csv")
    }


@cache
def published_correlations() -> dict[tuple[str, int, str], float]:
    """Table 3, Pearson's r, by task, number of labels and measure."""
    return {
        (r["task"], int(r["n_labelled"]), r["measure"]): float(r["pearson"])
        for r in _rows("table3_correlations.csv")
    }


def paper_accuracy(cell: Cell) -> float | None:
    """The number of a cell in Table 1 of the paper, or None."""
    if cell.algorithm == "supervised-updates":
        return None  # The paper only has the baseline with the same epochs.
    source = "supervised" if cell.is_supervised else cell.source
    return published_accuracies().get((cell.task, source, cell.percent, cell.n_labelled))


def paper_distance(cell: Cell, measure: str) -> float | None:
    """The number of a cell in Table 2 of the paper, or None."""
    return published_distances().get((cell.task, cell.source, cell.percent, measure))


def paper_correlation(group: GroupKey, measure: str) -> float | None:
    """The number of a group in Table 3 of the paper, or None."""
    return published_correlations().get((group.task, group.n_labelled, measure))


def _rows(name: str) -> list[dict[str, str]]:
    text = files("mixmood.testbed").joinpath(f"paper/{name}").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))
