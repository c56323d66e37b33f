"""Everything that the page of a test bed shows, computed from the store's records."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from mixmood.core.errors import InputError
from mixmood.core.records.ranking import SIGNIFICANT
from mixmood.core.version import __version__
from mixmood.ssl.record import Arm
from mixmood.testbed.analysis.agreement import (
    AgreementRow,
    Chance,
    OverallRow,
    agreement_rows,
    chance_of_correlation,
    overall_rows,
)
from mixmood.testbed.analysis.groups import GroupKey, GroupLine, fitted_lines, grouped
from mixmood.testbed.analysis.tables import (
    AccuracyRow,
    OutlookRow,
    Tables,
    chosen_records,
    make_tables,
    outlook_rows,
)
from mixmood.testbed.cells import EVERY_CELL, CellFilter
from mixmood.testbed.plan import Choice
from mixmood.testbed.record import RunRecord
from mixmood.testbed.store import Store

LEAST_GAIN = 0.02  # a model better than chance is so by at least this, and two standard errors


@dataclass(frozen=True)
class Extremes:
    """The best and the worst source of a task at its highest percentage.

    Accuracies are means over the numbers of labels and the ways of training that all sources have.
    """

    task: str
    percent: float
    best: str
    best_accuracy: float
    worst: str
    worst_accuracy: float
    n_sources: int
    chance: float = 0.0
    is_above_chance: bool = True


def extremes(rows: Sequence[AccuracyRow], n_classes: int) -> list[Extremes]:
    """One for each task with at least two sources to compare."""
    tasks = grouped((row.task, row) for row in rows if row.percent > 0)
    found = []
    for task, all_rows in tasks.items():
        percent = max(row.percent for row in all_rows)
        own = [row for row in all_rows if row.percent == percent]
        by_source = grouped((GroupKey.of(row), (row.source, row)) for row in own).values()
        sources = list(dict.fromkeys(source for pairs in by_source for source, _ in pairs))
        whole = [dict(pairs) for pairs in by_source if len(dict(pairs)) == len(sources)]
        if len(sources) < 2 or not whole:
            continue
        means = {
            source: float(np.mean([one[source].accuracy_mean for one in whole]))
            for source in sources
        }
        best, worst = max(sources, key=means.__getitem__), min(sources, key=means.__getitem__)
        # The accuracies of these rows are means over runs.
        variances = [(one[best].accuracy_spread or 0.0) ** 2 / one[best].n_runs for one in whole]
        margin = max(LEAST_GAIN, 2 * math.sqrt(sum(variances)) / len(whole))
        ends = (best, means[best], worst, means[worst])
        is_above_chance = means[best] > 1 / n_classes + margin
        found.append(Extremes(task, percent, *ends, len(sources), 1 / n_classes, is_above_chance))
    return found


@dataclass(frozen=True)
class FailureCount:
    """An error message, and the number of runs that ended with it."""

    message: str
    n_runs: int


@dataclass(frozen=True)
class Overview:
    """The record of a test bed: the verdict, the tables, and the runs that they come from."""

    testbed: str
    store: str
    verdict: str
    chance: Chance | None
    best_measure: str | None
    n_runs: int
    failures: list[FailureCount]
    compute_s: float
    versions: dict[str, list[str]]  # several of a package that changed between runs
    protocol: dict[str, Any]
    extremes: list[Extremes]
    overall: list[OverallRow]
    tables: Tables
    outlook: list[OutlookRow] = field(default_factory=list)  # empty if no record has predictors
    predictors: list[AgreementRow] = field(default_factory=list)  # as Table 3; a good one is > 0
    overall_predictors: list[OverallRow] = field(default_factory=list)
    predictor_lines: list[GroupLine] = field(default_factory=list)
    mixmood: str = __version__
    schema: int = 1

    def to_dict(self) -> dict[str, Any]:
        """The record in plain values."""
        values = asdict(self)
        tables, lines = values.pop("tables"), values.pop("predictor_lines")
        missing = tables["gaps"]
        return {
            **values,
            **self.tables.to_dict(),
            "n_wanted": missing["n_wanted"],
            "n_failed": missing["n_failed"],
            "n_seeds": tables["n_seeds"],
            "gaps": self.tables.gaps.describe(),
            "empty_cells": missing["empty_cells"],
            "lines": tables["lines"] + lines,
            "predictors": self.tables.plain(self.predictors),
        }

    def to_json(self) -> str:
        """The record as embedded in the page."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"


def overview(
    store: Store,
    choice: Choice,
    only: CellFilter = EVERY_CELL,
    beside_paper: bool = False,
    arm: Arm = "A",
) -> Overview:
    """The overview of a store, or of some of its cells."""
    failed = [run for run in store.failures() if only.takes(run.run)]
    if failed and not store.keys():
        raise InputError(
            f"All runs in the store {store.folder} failed. See why with: mixmood "
            "testbed status, and run them again with --retry-failed."
        )
    messages = Counter(run.error.last_line for run in failed)
    records = chosen_records(store, only, arm)
    tables = make_tables(store, choice, only, records, beside_paper, arm)
    overall = overall_rows(records, choice)
    by_chance = chance_of_correlation(records, choice)
    ends = extremes(tables.accuracies, store.config.split.n_classes)
    verdict, best = overview_verdict(overall, by_chance), overall[0] if overall else None
    if ends and not any(each.is_above_chance for each in ends):
        best = None
        verdict = (
            "No source gave a model better than chance, so distances cannot be compared with "
            "accuracies."
        )
    return Overview(
        testbed=store.config.name,
        store=str(store.folder),
        verdict=verdict,
        chance=by_chance,
        best_measure=None if best is None or best.pearson is None else best.measure,
        n_runs=len(records),
        failures=[FailureCount(text, n) for text, n in messages.most_common()],
        compute_s=sum(record.times["total_s"] for record in records),
        versions=_versions(records),
        protocol=store.config.protocol(),
        extremes=ends,
        overall=overall,
        tables=tables,
        outlook=outlook_rows(records),
        predictors=agreement_rows(records, choice, "predictors"),
        overall_predictors=overall_rows(records, choice, "predictors"),
        predictor_lines=fitted_lines(records, choice, "predictors"),
    )


def overview_verdict(rows: Sequence[OverallRow], by_chance: Chance | None) -> str:
    """Whether distances predicted accuracies, and by which measure best, in one sentence."""
    if not rows:
        return (
            "Distances cannot be compared with accuracies yet: no task has three contaminated "
            "cells that share a seed."
        )
    best = rows[0]
    if best.pearson is None or by_chance is None:
        return "Distances predicted nothing: all cells had the same accuracy."
    mean = "mean r" if best.n_groups > 1 else "r"
    number = f"{mean} = {best.pearson:.2f}".replace("-", "\u2212")
    unsure = f"No measure reliably predicted accuracy in these cells; {best.measure} came closest"
    if best.pearson_interval is None:
        # With so few seeds it is unknown how much the result depends on the seed.
        n_seeds = "one seed" if best.n_seeds == 1 else f"only {best.n_seeds} seeds"
        return f"{unsure} ({number} from {n_seeds})."
    if best.pearson < 0 and by_chance.p_lower <= SIGNIFICANT:
        found = f"In these cells nearer pools gave better models; {best.measure} predicted it best"
        return f"{found} ({number}, {_p(by_chance.p_lower)})."
    if best.pearson > 0 and by_chance.p_higher <= SIGNIFICANT:
        found = f"In these cells nearer pools gave no better models, not even by {best.measure}"
        return f"{found} ({number}, {_p(by_chance.p_higher)})."
    return f"{unsure} ({number}, {_p(by_chance.p_lower)})."


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def _versions(records: Sequence[RunRecord]) -> dict[str, list[str]]:
    every = ({"mixmood": record.mixmood, **record.versions} for record in records)
    found = grouped(pair for versions in every for pair in versions.items())
    return {name: sorted(set(versions)) for name, versions in found.items()}
