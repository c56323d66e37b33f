"""Figures of a test bed as SVG and PNG: accuracy against each distance, and against percent."""

import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from mixmood.report.testbed.plots import Group, groups_of
from mixmood.testbed.analysis.groups import GroupKey
from mixmood.testbed.analysis.tables import Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")


def figures(tables: Tables) -> dict[str, bytes]:
    """The figures by file name: accuracy against distance by each measure, and against percent."""
    from matplotlib import rc_context

    # A dollar sign in a name must not start a formula; letters missing in the font do not warn.
    with rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+")
        drawn = {
            f"accuracy_against_{measure}": _drawn(tables, _scatter(tables, measure))
            for measure in dict.fromkeys(row.measure for row in tables.distances)
        }
        drawn["accuracy_against_percent"] = _drawn(tables, _lines(tables))
        return {
            f"{name}.{form}": _saved(figure, form)
            for name, figure in drawn.items()
            for form in FORMATS
        }


def _drawn(tables: Tables, draw: Callable[["Axes", Group], None]) -> "Figure":
    """One panel for each task (rows) and number of labels (columns): its first group."""
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(row.task for row in tables.accuracies))
    labels = sorted({row.n_labelled for row in tables.accuracies})
    groups = {(g.key.task, g.key.n_labelled): g for g in reversed(groups_of(tables.accuracies))}
    size = (4.2 * len(labels) + 1.6, 3.2 * len(tasks))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(tasks), len(labels), squeeze=False)
    for row, task in enumerate(tasks):
        for column, n_labelled in enumerate(labels):
            axes = grid[row, column]
            axes.set_title(f"{task}, {n_labelled} labels", fontsize=10)
            axes.set_ylabel(f"test accuracy ({tables.choice})")
            if group := groups.get((task, n_labelled)):
                draw(axes, group)
            if axes.has_data() and column == len(labels) - 1:
                axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _scatter(tables: Tables, measure: str) -> Callable[["Axes", Group], None]:
    distance = {row.cell: row for row in tables.distances if row.measure == measure}
    lines = {GroupKey.of(line): line for line in tables.lines if line.measure == measure}

    def draw(axes: "Axes", group: Group) -> None:
        rows = [row for row in group.contaminated if row.cell in distance]
        for source in dict.fromkeys(row.source for row in rows):
            own = [row for row in rows if row.source == source]
            x = [distance[row.cell].distance_mean for row in own]
            colour = _colour(tables, source)
            axes.plot(x, [row.accuracy_mean for row in own], "o", color=colour, label=source)
            for at, row in zip(x, own, strict=True):
                axes.annotate(f" {row.percent:g} %", (at, row.accuracy_mean), fontsize=6)
        if rows and (line := lines.get(group.key)):
            axes.plot(line.x, line.y, "--", color="grey", label=f"r = {line.pearson:.2f}")
        axes.set_xlabel(f"{measure} distance")

    return draw


def _lines(tables: Tables) -> Callable[["Axes", Group], None]:
    def draw(axes: "Axes", group: Group) -> None:
        for source in group.sources:
            own = [*group.clean[:1], *(row for row in group.contaminated if row.source == source)]
            axes.errorbar(
                [row.percent for row in own],
                [row.accuracy_mean for row in own],
                yerr=[row.accuracy_spread or 0 for row in own],
                marker="o",
                capsize=3,
                color=_colour(tables, source),
                label=source,
            )
        for row in group.supervised:
            style = "-." if row.algorithm == "supervised-updates" else ":"
            axes.axhline(row.accuracy_mean, color="grey", ls=style, label=row.algorithm)
        axes.set_xlabel("out-of-distribution images, % of the pool")

    return draw


def _colour(tables: Tables, source: str) -> str:
    """The same colour for a source in every panel."""
    sources = list(dict.fromkeys(row.source for row in tables.accuracies if row.percent > 0))
    return f"C{sources.index(source)}"


def _saved(figure: "Figure", form: str) -> bytes:
    from matplotlib import rc_context

    buffer = io.BytesIO()
    # Without a date and with fixed ids, the same numbers give the same file.
    with rc_context({"svg.hashsalt": "mixmood"}):
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(buffer, format=form, dpi=120, metadata=metadata)
    return buffer.getvalue()
