"""The tables of a test bed as text, Markdown, LaTeX and CSV."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mixmood.core.files import csv_text
from mixmood.core.text import check_name, counted
from mixmood.report.testbed.page import Choices, line_key, pivoted, value_of
from mixmood.report.text import side_by_side, with_spread
from mixmood.testbed.analysis.agreement import ARMS, Interval
from mixmood.testbed.analysis.groups import GroupKey
from mixmood.testbed.analysis.tables import AccuracyRow, DistanceRow, Tables
from mixmood.testbed.cells import SUPERVISED, Cell


@dataclass(frozen=True)
class Word:
    """A cell of a table."""

    text: str
    is_best: bool = False  # of its column
    is_weak: bool = False  # not significant


@dataclass(frozen=True)
class Sheet:
    """A table: title, names of the columns, rows of words, and notes below."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Word]]
    notes: Sequence[str] = field(default=())


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


_MARKDOWN = str.maketrans({"\\": r"\\", "|": r"\|", "<": "&lt;", "*": r"\*", "`": r"\`"})
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
        **{character: f"\\{character}" for character in "%_&#{}$"},
    }
)


def _in_markdown(text: str) -> str:
    # The second replacement prevents links and pictures, which a page would fetch.
    return _one_line(text).translate(_MARKDOWN).replace("](", r"]\(")


def _in_latex(text: str) -> str:
    return _one_line(text).translate(_LATEX)


FORMS: dict[str, tuple[Callable[[str], str], str, str]] = {
    "text": (_one_line, "%s*", "%s~"),
    "markdown": (_in_markdown, "**%s**", "_%s_"),
    "latex": (_in_latex, r"\textbf{%s}", r"\textit{%s}"),
}
"""For each format: how a text is escaped, the best of a column and a weak value are marked."""


def render_sheet(sheet: Sheet, form: str) -> str:
    """The table as text, markdown or latex."""
    check_name("format", form, FORMS)
    escape, best, weak = FORMS[form]

    def marked(word: Word) -> str:
        text = escape(word.text)
        text = best % text if word.is_best else text
        return weak % text if word.is_weak else text

    head, rows = [*map(escape, sheet.columns)], [[*map(marked, row)] for row in sheet.rows]
    if form == "latex":
        first, *others = [" & ".join(row) + r" \\" for row in (head, *rows)]
        lines = [
            r"\begin{table}",
            rf"\caption{{{escape(sheet.title)}}}",
            rf"\begin{{tabular}}{{{'l' * len(head)}}}",
            *(r"\toprule", first, r"\midrule", *others, r"\bottomrule", r"\end{tabular}"),
            *(rf"{escape(note)}\\" for note in sheet.notes),
            r"\end{table}",
        ]
    elif form == "markdown":
        table = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
        lines = [f"**{sheet.title}**", "", *table]
    else:
        rules = ["-" * max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [sheet.title, "", *side_by_side([head, rules, *rows])]
    if sheet.notes and form != "latex":
        lines += ["", *sheet.notes]
    return "\n".join(lines) + "\n"


_COLUMNS = {"source": "ood_source", "percent": "ood_percent"}


def to_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows of plain values as CSV, with the column names of the paper's tables; None is empty.

    A supervised baseline has no source and no percentage. An interval has two columns.
    """
    keys = list(rows[0]) if rows else []
    columns = [name for key in keys for name in _names(key)]
    return csv_text(columns, ([each for key in keys for each in _values(row, key)] for row in rows))


def _names(key: str) -> list[str]:
    stem = key.removesuffix("_interval")
    return [_COLUMNS.get(key, key)] if stem == key else [f"{stem}_low", f"{stem}_high"]


def _values(row: Mapping[str, Any], key: str) -> list[object]:
    if key.endswith("_interval"):
        return list(row[key] or (None, None))
    is_hidden = key in _COLUMNS and row.get("algorithm") in SUPERVISED
    return [None if is_hidden else row[key]]


MISSING = Word("-")
THREE_DECIMALS = "{:.3f}".format
CellRow = TypeVar("CellRow", bound=AccuracyRow | DistanceRow)


def accuracy_sheet(tables: Tables) -> Sheet:
    """Table 1: accuracy of every cell, the best of each task and number of labels marked."""
    title = f"Table 1. Test accuracy, mean ± standard deviation; epoch: {tables.choice}"
    title += f"; arm: {tables.arm}" if tables.arms else ""
    return _cell_sheet(title, tables, tables.accuracies, line_key, "n_labelled")


def distance_sheet(tables: Tables) -> Sheet:
    """Table 2: distances of every cell; those that are not significant are marked."""
    title = "Table 2. Distance of the pool from the labelled images, mean ± standard deviation"
    return _cell_sheet(title, tables, tables.distances, lambda row: row.cell, "measure")


def _cell_sheet(
    title: str,
    tables: Tables,
    rows: Sequence[CellRow],
    line_of: Callable[[CellRow], object],
    column: str,
) -> Sheet:
    """A table with a line for each pool, and a column for each value of a field of the rows."""
    choices = Choices.of(tables)
    values: list[Any] = choices.values[column]
    is_by_labels = column == "n_labelled"
    columns = ["task", "type", "pool", *([] if is_by_labels else ["n"])]
    for value in values:
        columns += [f"n={value}" if is_by_labels else value, *_paper_columns(tables)]
    lines = []
    for first, cells in pivoted(rows, line_of, column, values):
        line = _words(first.task, first.ood_type, _pool(first, choices))
        line += [] if is_by_labels else _words(first.n_labelled)
        for row in cells:
            line.append(_word(row, tables.n_seeds))
            line += _beside(tables, *((value_of(row), row.paper) if row else (None, None)))
        lines.append(line)
    return Sheet(title, columns, lines, _notes(tables))


def agreement_sheet(tables: Tables) -> Sheet:
    """Table 3: correlation of distance and accuracy, and regret, with intervals over seeds."""
    choices = Choices.of(tables)
    columns = ["task", "n", "measure", "Pearson", *_paper_columns(tables)]
    columns += ["Spearman", "regret (points)", "cells", "seeds"]
    lines = [
        [
            *_words(_named(row.task, row, choices), row.n_labelled, row.measure),
            *_words(_with_interval(row.pearson, row.pearson_interval)),
            *_beside(tables, row.pearson, row.paper),
            *_words(_with_interval(row.spearman, row.spearman_interval)),
            *_words(_with_interval(row.regret_points, row.regret_interval, 1)),
            *_words(row.n_cells, row.n_seeds),
        ]
        for row in tables.agreements
    ]
    title = (
        "Table 3. Distance against accuracy over the contaminated cells; in brackets 95 % "
        "intervals over seeds, from three seeds on"
    )
    few = [] if lines else ["No task has three contaminated cells that share a seed."]
    return Sheet(title, columns, lines, [*few, *_notes(tables)])


ARMS_NOTE = (
    "Arms: test images standardised as the labelled images (A, C) or as the pool (B, D); running "
    "batch-norm of the training passes (A, B) or of the guesses too (C, D). A is ours, D the "
    "authors' code."
)


def arm_sheet(tables: Tables) -> Sheet:
    """Table 4: accuracy of every cell by arm, and the paired differences from arm A."""
    choices = Choices.of(tables)
    rows = {(row.cell, row.epoch, row.arm): row for row in tables.arms}
    columns = ["task", "type", "pool", "n", "epoch", *ARMS]
    columns += [f"{arm} - A (points)" for arm in ARMS[1:]] + ["runs"]
    lines = []
    for cell, epoch in dict.fromkeys((cell, epoch) for cell, epoch, _ in rows):
        own = [rows[cell, epoch, arm] for arm in ARMS]
        names = (cell.task, cell.ood_type, _pool(cell, choices), cell.n_labelled, epoch)
        means = [THREE_DECIMALS(row.accuracy_mean) for row in own]
        differences = [
            f"{row.difference_points:+.1f}"
            + ("" if row.difference_error is None else f" ± {row.difference_error:.1f}")
            for row in own[1:]
        ]
        lines.append(_words(*names, *means, *differences, own[0].n_runs))
    title = "Table 4. Test accuracy by arm; differences from arm A ± standard error over runs"
    return Sheet(title, columns, lines, [ARMS_NOTE, *_notes(tables)])


def arm_agreement_sheet(tables: Tables) -> Sheet:
    """Table 5: Pearson's r of every measure with accuracy by arm, with intervals over seeds."""
    choices = Choices.of(tables)
    rows = {
        (GroupKey.of(row), row.epoch, row.measure, row.arm): row for row in tables.arm_agreements
    }
    lines = []
    for group, epoch, measure in dict.fromkeys(key[:3] for key in rows):
        own = [rows[group, epoch, measure, arm] for arm in ARMS]
        name = _named(group.task, group, choices)
        found = [_with_interval(row.pearson, row.pearson_interval, 2) for row in own]
        lines.append(_words(name, group.n_labelled, measure, epoch, *found, own[0].n_seeds))
    title = (
        "Table 5. Pearson's r of distance and accuracy by arm; in brackets 95 % intervals over "
        "seeds, from three seeds on"
    )
    columns = ["task", "n", "measure", "epoch", *ARMS, "seeds"]
    return Sheet(title, columns, lines, [ARMS_NOTE, *_notes(tables)])


_ALL = (accuracy_sheet, distance_sheet, agreement_sheet, arm_sheet, arm_agreement_sheet)
SHEETS: dict[int, Callable[[Tables], Sheet]] = dict(enumerate(_ALL, start=1))


def _words(*values: object) -> list[Word]:
    return [Word(str(value)) for value in values]


def _named(name: str, row: Cell | GroupKey, choices: Choices) -> str:
    """The name, and how the row was trained where rows differ in it."""
    return ", ".join(filter(None, (name, choices.variant(row))))


def _pool(cell: Cell, choices: Choices) -> str:
    name = SUPERVISED.get(cell.algorithm, f"{cell.source} {cell.percent:g} %")
    return _named(name, cell, choices)


def _word(row: AccuracyRow | DistanceRow | None, n_seeds: int) -> Word:
    if row is None:
        return MISSING
    if isinstance(row, DistanceRow):
        text = with_spread(row.distance_mean, row.distance_spread, THREE_DECIMALS)
        return Word(text, is_weak=not row.is_significant)
    text = with_spread(row.accuracy_mean, row.accuracy_spread, THREE_DECIMALS)
    few = f" ({counted(row.n_runs, 'run')})" if row.n_runs < n_seeds else ""
    return Word(text + few, is_best=row.is_best)


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
    ends = "" if interval is None else " [{:.{n}f}, {:.{n}f}]".format(*interval, n=digits)
    return f"{value:.{digits}f}{ends}"


def _notes(tables: Tables) -> list[str]:
    return list(filter(None, [tables.gaps.describe()]))
