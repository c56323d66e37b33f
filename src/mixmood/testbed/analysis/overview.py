"""All that the page of a test bed shows, as one record: drawn from the store's records alone."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mixmood.core.errors import InputError
from mixmood.core.records.ranking import SIGNIFICANT
from mixmood.core.version import __version__
from mixmood.testbed.analysis.chance import Chance, chance
from mixmood.testbed.analysis.extremes import extremes
from mixmood.testbed.analysis.overall import OverallRow, overall_rows
from mixmood.testbed.analysis.published import (
    paper_accuracy,
    published_correlations,
    published_distances,
)
from mixmood.testbed.analysis.summary import Choice, chosen_records
from mixmood.testbed.analysis.tables import Tables, make_tables
from mixmood.testbed.grid.cells import Run, Selection
from mixmood.testbed.runs.store import Record, Store

SCHEMA = 1


def overview(
    store: Store,
    choice: Choice,
    only: Selection | None = None,
    beside_paper: bool = False,
) -> dict[str, Any]:
    """The record of a store, in plain values: the answer, the tables, and where they come from."""
    failed = [r for r in store.records(failed=True) if only is None or only.takes(_cell(r))]
    if failed and not store.keys():
        raise InputError(
            f"All {len(failed)} runs in the store {store.folder} failed. See why with: mixmood "
            "testbed status, and run them again with --retry-failed."
        )
    records = chosen_records(store, only)
    tables = make_tables(store, choice, only, records)
    overall = overall_rows(records, tables.agreements, choice)
    luck = chance(records, choice)
    return {
        "schema": SCHEMA,
        "mixmood": __version__,
        "testbed": store.config.name,
        "store": str(store.folder),
        "selection": choice,
        "verdict": verdict(overall, luck),
        "chance": None if luck is None else asdict(luck),
        "best_measure": overall[0].measure if overall and overall[0].pearson is not None else None,
        "n_runs": len(records),
        "n_wanted": tables.gaps.n_wanted,
        "n_seeds": tables.n_seeds,
        "n_failed": tables.gaps.n_failed,
        "gaps": tables.gaps.told(),
        "empty_cells": [asdict(cell) for cell in tables.gaps.empty_cells],
        "failures": _failures(failed),
        "compute_s": sum(record["times"]["total_s"] for record in records),
        "versions": _versions(records),
        "protocol": store.config.protocol(),
        "extremes": [asdict(each) for each in extremes(tables.accuracies)],
        "overall": [asdict(row) for row in overall],
        **_rows(tables, beside_paper),
        "lines": [asdict(line) for line in tables.lines],
    }


def to_json(record: dict[str, Any]) -> str:
    """The record as it stands in the page."""
    return json.dumps(record, indent=1, allow_nan=False) + "\n"


def verdict(rows: Sequence[OverallRow], luck: Chance | None) -> str:
    """Whether distances foretold accuracies, and by which measure best, in one sentence."""
    if not rows:
        return (
            "Distances cannot be compared with accuracies yet: no task has three contaminated "
            "cells that share a seed."
        )
    best = rows[0]
    if best.pearson is None or luck is None:
        return "Distances foretold nothing: all cells came out alike."
    mean = "mean r" if best.n_groups > 1 else "r"
    number = f"{mean} = {best.pearson:.2f}".replace("-", "\u2212")
    unsure = f"No measure surely foretold accuracy in these cells; {best.measure} came nearest"
    if best.pearson_interval is None:
        # What another seed would change is not known.
        return f"{unsure} ({number} from a single seed)."
    if best.pearson < 0 and luck.p_lower <= SIGNIFICANT:
        told = f"In these cells nearer pools gave better models; {best.measure} told it best"
        return f"{told} ({number}, {_p(luck.p_lower)})."
    if best.pearson > 0 and luck.p_higher <= SIGNIFICANT:
        told = f"In these cells nearer pools gave no better models, not even by {best.measure}"
        return f"{told} ({number}, {_p(luck.p_higher)})."
    return f"{unsure} ({number}, {_p(luck.p_lower)})."


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def _rows(tables: Tables, beside_paper: bool) -> dict[str, list[dict[str, Any]]]:
    """The three tables, with marks, and on request the paper's numbers."""
    best = {
        (row.task, row.n_labelled): max(
            other.accuracy_mean
            for other in tables.accuracies
            if (other.task, other.n_labelled) == (row.task, row.n_labelled)
        )
        for row in tables.accuracies
    }
    accuracies = [
        asdict(row) | {"is_best": row.accuracy_mean == best[row.task, row.n_labelled]}
        for row in tables.accuracies
    ]
    distances = [asdict(row) | {"is_significant": row.is_significant} for row in tables.distances]
    agreements = [asdict(row) for row in tables.agreements]
    if beside_paper:
        keys = ("task", "algorithm", "source", "percent", "n_labelled")
        for row in accuracies:
            row["paper"] = paper_accuracy(*(row[key] for key in keys))
        for row in distances:
            key = row["task"], row["source"], row["percent"], row["measure"]
            row["paper"] = published_distances().get(key)
        for row in agreements:
            row["paper"] = published_correlations().get(
                (row["task"], row["n_labelled"], row["measure"])
            )
    return {"table1": accuracies, "table2": distances, "table3": agreements}


def _failures(records: Sequence[Record]) -> list[dict[str, Any]]:
    """What went wrong, the most frequent first."""
    messages = [r["error"]["message"].strip().splitlines()[-1] for r in records]
    return [{"message": text, "n_runs": n} for text, n in Counter(messages).most_common()]


def _versions(records: Sequence[Record]) -> dict[str, list[str]]:
    """All versions that made the runs: more than one where a store was filled over time."""
    found: dict[str, set[str]] = defaultdict(set)
    for record in records:
        for name, version in {"mixmood": record["mixmood"], **record["versions"]}.items():
            found[name].add(version)
    return {name: sorted(versions) for name, versions in found.items()}


def _cell(record: Record) -> Any:
    return Run.from_dict(record["run"]).cell
