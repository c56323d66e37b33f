"""Figures of a test bed as SVG and PNG: accuracy against each distance, and against percent."""

import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from mixmood.report.testbed.choices import Choices, Pools, value_of
from mixmood.report.testbed.plots import PlotGroup, plot_groups
from mixmood.testbed.analysis.tables import Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
Draw = Callable[["Axes", PlotGroup, list[str]], None]
"""Draws a group of cells; the list holds all sources, each of which has its colour."""


def figures(tables: Tables) -> dict[str, bytes]:
    """The figures by file name: accuracy against distance by each measure, and against percent."""
    from matplotlib import rc_context

    choices = Choices.of(tables)
    # A dollar sign in a name must not start a formula; letters missing in the font do not warn.
    with rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+")
        drawn = {
            f"accuracy_against_{measure}": _drawn(tables, choices, _scatter(measure))
            for measure in choices.values["measure"]
        }
        drawn["accuracy_against_percent"] = _drawn(tables, choices, _lines)
        return {
            f"{name}.{form}": _saved(figure, form)
            for name, figure in drawn.items()
            for form in FORMATS
        }


def _drawn(tables: Tables, choices: Choices, draw: Draw) -> "Figure":
    """One panel for each task (rows) and number of labels (columns): its first group."""
    from matplotlib.figure import Figure

    tasks, labels = choices.values["task"], choices.values["n_labelled"]
    groups = {(g.key.task, g.key.n_labelled): g for g in reversed(plot_groups(tables, choices))}
    sources = Pools.of(tables.accuracies).sources
    size = (4.2 * len(labels) + 1.6, 3.2 * len(tasks))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(tasks), len(labels), squeeze=False)
    for row, task in enumerate(tasks):
        for column, n_labelled in enumerate(labels):
            axes = grid[row, column]
            axes.set_title(f"{task}, {n_labelled} labels", fontsize=10)
            axes.set_ylabel(f"test accuracy ({tables.choice})")
            if group := groups.get((task, n_labelled)):
                draw(axes, group, sources)
            if axes.has_data() and column == len(labels) - 1:
                axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _scatter(measure: str) -> Draw:
    def draw(axes: "Axes", group: PlotGroup, sources: list[str]) -> None:
        axes.set_xlabel(f"{measure} distance")
        chart = next((chart for chart in group.scatters if chart.measure == measure), None)
        if chart is None:
            return
        for source in group.by_source:
            own = [pair for pair in chart.points if pair[0].source == source]
            x, y = ([value_of(pair[side]) for pair in own] for side in (1, 0))
            axes.plot(x, y, "o", color=f"C{sources.index(source)}", label=source)
            for row, value in own:
                place = (value_of(value), row.accuracy_mean)
                axes.annotate(f" {row.percent:g} %", place, fontsize=6)
        if line := chart.line:
            axes.plot(line.x, line.y, "--", color="grey", label=f"r = {line.pearson:.2f}")

    return draw


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


def _saved(figure: "Figure", form: str) -> bytes:
    from matplotlib import rc_context

    buffer = io.BytesIO()
    # Without a date and with fixed ids, the same numbers give the same file.
    with rc_context({"svg.hashsalt": "mixmood"}):
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(buffer, format=form, dpi=120, metadata=metadata)
    return buffer.getvalue()
