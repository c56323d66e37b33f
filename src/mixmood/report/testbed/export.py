"""A test bed for other programs: CSV, JSON, and figures as SVG and PNG; correlations as a table."""

import gzip
import io
import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict, astuple, fields
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from mixmood.core.files import csv_text
from mixmood.report.testbed.page import VARIANT, Choices, PlotGroup, plot_groups, value_of
from mixmood.report.testbed.sheets import to_csv
from mixmood.report.text import printable
from mixmood.testbed.analysis.correlate import Agreement
from mixmood.testbed.analysis.tables import Tables
from mixmood.testbed.record import MeasuredDistance, RunRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def records_csv_gz(records: Sequence[RunRecord]) -> bytes:
    """Gzipped CSV with one row for each run; the same records give the same bytes."""
    rows = [flat(record) for record in records]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    whole = [{key: row.get(key) for key in columns} for row in rows]
    return gzip.compress(to_csv(whole).encode(), mtime=0)


def flat(record: RunRecord) -> dict[str, object]:
    """The numbers of a run, one level deep."""
    row: dict[str, object] = {"key": record.key, **record.run.to_dict()}
    row |= {f"accuracy_{name}": value for name, value in record.accuracy.to_dict().items()}
    for measure, found in (record.distances or {}).items():
        names = MeasuredDistance.model_fields
        row |= {f"{measure}_{name}": _short(getattr(found, name)) for name in names}
    for part, outlook in (("share", record.useful_share), ("probe", record.probe)):
        for name in () if outlook is None else type(outlook).model_fields:
            value = getattr(outlook, name)
            key = part if name == part else f"{part}_{name}"
            row[key] = list(map(_short, value)) if name == "interval" else _short(value)
    if record.test_halves is not None:
        row |= {f"accuracy_half_{k}": value for k, value in enumerate(record.test_halves, 1)}
    for arm, tested in (record.arms or {}).items():
        row |= {f"arm_{arm}_{name}": value for name, value in tested.to_dict().items()}
    by_epoch = record.training.arms if record.training and record.training.arms else {}
    for arm, values in by_epoch.items():
        row[f"arm_{arm}_by_epoch"] = " ".join(f"{value:.4f}" for value in values)
    epochs = record.epochs
    row["accuracy_by_epoch"] = " ".join(f"{epoch.test_accuracy:.4f}" for epoch in epochs)
    shares = epochs[-1].pseudo_label_shares if epochs else None
    row["last_guesses"] = " ".join(f"{share:.3f}" for share in shares or ())
    row["classes"] = " ".join(record.classes)
    if record.view is not None:
        row["view"] = record.view
    row |= {"data": record.data, "mixmood": record.mixmood}
    row |= {f"version_{name}": value for name, value in record.versions.items()}
    return row | {name: round(value, 3) for name, value in record.times.items()}


def _short(value: object) -> object:
    """A number rounded to six digits: more digits are noise, and make the file larger."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def agreement_view(rows: Sequence[Agreement], is_plain: bool = False) -> Table:
    """One line for each row; how it was trained only where rows differ in it."""
    variant = [column for column in VARIANT if len({getattr(row, column) for row in rows}) > 1]
    cells = {
        "task": [row.task for row in rows],
        **{column: [str(getattr(row, column) or "-") for row in rows] for column in variant},
        "labels": [str(row.n_labelled) for row in rows],
        "measure": [row.measure for row in rows],
        "Pearson": [_number(row.pearson) for row in rows],
        "Spearman": [_number(row.spearman) for row in rows],
        "regret (points)": [f"{row.regret_points:.1f}" for row in rows],
        "cells": [str(row.n_cells) for row in rows],
    }
    table = Table(box=None if is_plain else box.SIMPLE_HEAD, pad_edge=False)
    for head in cells:
        is_word = head in ("task", *variant, "measure")
        table.add_column(head, justify="left" if is_word else "right")
    for line in zip(*cells.values(), strict=True):
        # Not plain strings, in which rich would read brackets as markup.
        table.add_row(*(Text(printable(cell)) for cell in line))
    return table


def agreement_json(rows: Sequence[Agreement]) -> str:
    """The rows under the key `rows`."""
    return json.dumps({"schema": 1, "rows": [asdict(row) for row in rows]}, indent=2) + "\n"


def agreement_csv(rows: Sequence[Agreement]) -> str:
    """One row for each task, number of labels, measure and way of training."""
    return csv_text([one.name for one in fields(Agreement)], map(list, map(astuple, rows)))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


FORMATS, PERCENT = ("svg", "png"), "percent"


def figures(tables: Tables) -> dict[str, bytes]:
    """The figures by file name: accuracy against distance by each measure, and against percent."""
    from matplotlib import rc_context

    choices, made = Choices.of(tables), {}
    # A dollar sign in a name must not start a formula; letters missing in the font do not warn.
    # Without a date and with fixed ids, the same numbers give the same file.
    own = rc_context({"text.parse_math": False, "svg.hashsalt": "mixmood"})
    with own, warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+")
        for name in (*choices.values["measure"], PERCENT):
            figure = _drawn(tables, choices, name)
            for form in FORMATS:
                buffer = io.BytesIO()
                metadata = {"Date": None} if form == "svg" else {"Software": None}
                figure.savefig(buffer, format=form, dpi=120, metadata=metadata)
                made[f"accuracy_against_{name}.{form}"] = buffer.getvalue()
    return made


def _drawn(tables: Tables, choices: Choices, against: str) -> "Figure":
    """One panel for each task (rows) and number of labels (columns): its first group."""
    from matplotlib.figure import Figure

    tasks, labels = choices.values["task"], choices.values["n_labelled"]
    groups = {(g.key.task, g.key.n_labelled): g for g in reversed(plot_groups(tables, choices))}
    size = (4.2 * len(labels) + 1.6, 3.2 * len(tasks))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(tasks), len(labels), squeeze=False)
    for row, task in enumerate(tasks):
        for column, n_labelled in enumerate(labels):
            axes = grid[row, column]
            axes.set_title(f"{task}, {n_labelled} labels", fontsize=10)
            axes.set_ylabel(f"test accuracy ({tables.choice})")
            if group := groups.get((task, n_labelled)):
                if against == PERCENT:
                    _lines(axes, group, choices.sources)
                else:
                    _scatter(axes, group, choices.sources, against)
            if axes.has_data() and column == len(labels) - 1:
                axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _scatter(axes: "Axes", group: PlotGroup, sources: list[str], measure: str) -> None:
    axes.set_xlabel(f"{measure} distance")
    for chart in (chart for chart in group.scatters if chart.measure == measure):
        for source in group.by_source:
            own = [pair for pair in chart.points if pair[0].source == source]
            x, y = ([value_of(pair[side]) for pair in own] for side in (1, 0))
            axes.plot(x, y, "o", color=f"C{sources.index(source)}", label=source)
            for row, value in own:
                place = (value_of(value), row.accuracy_mean)
                axes.annotate(f" {row.percent:g} %", place, fontsize=6)
        if line := chart.line:
            axes.plot(line.x, line.y, "--", color="grey", label=f"r = {line.pearson:.2f}")


def _lines(axes: "Axes", group: PlotGroup, sources: list[str]) -> None:
    for source, rows in group.by_source.items():
        own = [*group.clean[:1], *rows]
        axes.errorbar(
            [row.percent for row in own],
            [row.accuracy_mean for row in own],
            yerr=[row.accuracy_spread or 0 for row in own],
            marker="o",
            capsize=3,
            color=f"C{sources.index(source)}",
            label=source,
        )
    for row in group.supervised:
        style = "-." if row.algorithm == "supervised-updates" else ":"
        axes.axhline(row.accuracy_mean, color="grey", ls=style, label=row.algorithm)
    axes.set_xlabel("out-of-distribution images, % of the pool")
