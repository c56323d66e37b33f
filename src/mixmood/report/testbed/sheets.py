"""The three tables of a test bed as sheets of text cells."""

from collections.abc import Callable

from mixmood.core.words import counted
from mixmood.report.charts.numbers import with_spread
from mixmood.report.testbed.choices import Choices
from mixmood.report.testbed.sheet import Sheet, Word
from mixmood.report.testbed.table_lines import line_key
from mixmood.testbed.analysis.statistics.interval import Interval
from mixmood.testbed.analysis.summary import AccuracyRow, DistanceRow
from mixmood.testbed.analysis.tables import Tables
from mixmood.testbed.grid.cells import SUPERVISED, Cell

MISSING = Word("-")
THREE_DECIMALS = "{:.3f}".format


def accuracy_sheet(tables: Tables) -> Sheet:
    """Table 1: accuracy of every cell, the best of each task and number of labels marked."""
    choices = Choices.of(tables)
    labels = choices.values["n_labelled"]
    rows = {(*line_key(row), row.n_labelled): row for row in tables.accuracies}
    columns = ["task", "pool"]
    for n in labels:
        columns += [f"n={n}", *_paper_columns(tables)]
    lines = []
    for place in dict.fromkeys(map(line_key, tables.accuracies)):
        own = [row for n in labels if (row := rows.get((*place, n)))]
        line = [Word(own[0].task), Word(_pool(own[0], choices))]
        for n in labels:
            row = rows.get((*place, n))
            line.append(_accuracy_word(row, tables.n_seeds))
            line += _beside(tables, *((row.accuracy_mean, row.paper) if row else (None, None)))
        lines.append(line)
    title = f"Table 1. Test accuracy, mean ± standard deviation; epoch: {tables.choice}"
    return Sheet(title, columns, lines, _notes(tables))


def distance_sheet(tables: Tables) -> Sheet:
    """Table 2: distances of every cell; those that are not significant are marked."""
    choices = Choices.of(tables)
    measures = choices.values["measure"]
    rows = {(row.cell, row.measure): row for row in tables.distances}
    columns = ["task", "pool", "n"]
    for measure in measures:
        columns += [measure, *_paper_columns(tables)]
    lines = []
    for cell in dict.fromkeys(cell for cell, _ in rows):
        line = [Word(cell.task), Word(_pool(cell, choices)), Word(str(cell.n_labelled))]
        for measure in measures:
            row = rows.get((cell, measure))
            line.append(_distance_word(row))
            line += _beside(tables, *((row.distance_mean, row.paper) if row else (None, None)))
        lines.append(line)
    title = "Table 2. Distance of the pool from the labelled images, mean ± standard deviation"
    return Sheet(title, columns, lines, _notes(tables))


def agreement_sheet(tables: Tables) -> Sheet:
    """Table 3: correlation of distance and accuracy, and regret, with intervals over seeds."""
    choices = Choices.of(tables)
    columns = ["task", "n", "measure", "Pearson", *_paper_columns(tables)]
    columns += ["Spearman", "regret (points)", "cells", "seeds"]
    lines = [
        [
            Word(", ".join(filter(None, (row.task, choices.variant(row))))),
            Word(str(row.n_labelled)),
            Word(row.measure),
            Word(_with_interval(row.pearson, row.pearson_interval)),
            *_beside(tables, row.pearson, row.paper),
            Word(_with_interval(row.spearman, row.spearman_interval)),
            Word(_with_interval(row.regret_points, row.regret_interval, 1)),
            Word(str(row.n_cells)),
            Word(str(row.n_seeds)),
        ]
        for row in tables.agreements
    ]
    title = (
        "Table 3. Distance against accuracy over the contaminated cells; in brackets 95 % "
        "intervals over seeds, from three seeds on"
    )
    few = [] if lines else ["No task has three contaminated cells that share a seed."]
    return Sheet(title, columns, lines, [*few, *_notes(tables)])


SHEETS: dict[int, Callable[[Tables], Sheet]] = {
    1: accuracy_sheet,
    2: distance_sheet,
    3: agreement_sheet,
}


def _pool(cell: Cell, choices: Choices) -> str:
    name = SUPERVISED.get(cell.algorithm, f"{cell.source} {cell.percent:g} %")
    return ", ".join(filter(None, (name, choices.variant(cell))))


def _accuracy_word(row: AccuracyRow | None, n_seeds: int) -> Word:
    if row is None:
        return MISSING
    text = with_spread(row.accuracy_mean, row.accuracy_spread, THREE_DECIMALS)
    few = f" ({counted(row.n_runs, 'run')})" if row.n_runs < n_seeds else ""
    return Word(text + few, is_best=row.is_best)


def _distance_word(row: DistanceRow | None) -> Word:
    if row is None:
        return MISSING
    text = with_spread(row.distance_mean, row.distance_spread, THREE_DECIMALS)
    return Word(text, is_weak=not row.is_significant)


def _paper_columns(tables: Tables) -> list[str]:
    return ["paper", "diff"] if tables.has_paper else []


def _beside(tables: Tables, ours: float | None, theirs: float | None) -> list[Word]:
    if not tables.has_paper:
        return []
    if theirs is None:
        return [MISSING, MISSING]
    return [Word(f"{theirs:.3f}"), MISSING if ours is None else Word(f"{ours - theirs:+.3f}")]


def _with_interval(value: float | None, interval: Interval, digits: int = 3) -> str:
    if value is None:
        return "-"
    if interval is None:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]"


def _notes(tables: Tables) -> list[str]:
    return list(filter(None, [tables.gaps.describe()]))
