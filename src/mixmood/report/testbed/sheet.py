"""A table of text cells, some of them marked, as text, Markdown, LaTeX or CSV."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mixmood.core.files.spreadsheet import csv_text
from mixmood.core.suggest import unknown_name
from mixmood.testbed.grid.cells import SUPERVISED


@dataclass(frozen=True)
class Word:
    """A cell of a table; `is_best`: the best of its column, `is_weak`: not significant."""

    text: str
    is_best: bool = False
    is_weak: bool = False


@dataclass(frozen=True)
class Sheet:
    """A table: title, names of the columns, rows of words, and notes below."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Word]]
    notes: Sequence[str] = field(default=())


def render_sheet(sheet: Sheet, form: str) -> str:
    """The table as text, markdown or latex."""
    if form not in FORMS:
        raise unknown_name("format", form, FORMS)
    return FORMS[form](sheet)


def _text(sheet: Sheet) -> str:
    """Columns side by side; * marks the best of a column, ~ a value that is not significant."""
    rows = [[_plain(word) for word in row] for row in sheet.rows]
    widths = [max(map(len, column)) for column in zip(sheet.columns, *rows, strict=True)]
    lines = [
        "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in [list(sheet.columns), ["-" * width for width in widths], *rows]
    ]
    return "\n".join([sheet.title, "", *lines, *_notes(sheet)]) + "\n"


def _plain(word: Word) -> str:
    return f"{_one_line(word.text)}{'*' * word.is_best}{'~' * word.is_weak}"


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _notes(sheet: Sheet) -> list[str]:
    return ["", *sheet.notes] if sheet.notes else []


_MARKDOWN = {"\\": r"\\", "|": r"\|", "<": "&lt;", "*": r"\*", "`": r"\`"}


def _markdown(sheet: Sheet) -> str:
    def escaped(text: str) -> str:
        # The second replacement prevents links and pictures, which a page would fetch.
        return _replaced(text, _MARKDOWN).replace("](", r"]\(")

    def marked(word: Word) -> str:
        text = escaped(word.text)
        text = f"**{text}**" if word.is_best else text
        return f"_{text}_" if word.is_weak else text

    rows = [[marked(word) for word in row] for row in sheet.rows]
    lines = [
        f"| {' | '.join(row)} |"
        for row in [[*map(escaped, sheet.columns)], ["---"] * len(sheet.columns), *rows]
    ]
    return "\n".join([f"**{sheet.title}**", "", *lines, *_notes(sheet)]) + "\n"


_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    **{character: f"\\{character}" for character in "%_&#{}$"},
}


def _latex(sheet: Sheet) -> str:
    def marked(word: Word) -> str:
        text = _escaped(word.text)
        text = rf"\textbf{{{text}}}" if word.is_best else text
        return rf"\textit{{{text}}}" if word.is_weak else text

    lines = [
        r"\begin{table}",
        rf"\caption{{{_escaped(sheet.title)}}}",
        rf"\begin{{tabular}}{{{'l' * len(sheet.columns)}}}",
        r"\toprule",
        " & ".join(map(_escaped, sheet.columns)) + r" \\",
        r"\midrule",
        *(" & ".join(map(marked, row)) + r" \\" for row in sheet.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"{_escaped(note)}\\" for note in sheet.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return _replaced(text, _LATEX)


def _replaced(text: str, words: Mapping[str, str]) -> str:
    """The text on one line, with the special characters of a format replaced in one pass."""
    return "".join(words.get(character, character) for character in _one_line(text))


FORMS: dict[str, Callable[[Sheet], str]] = {
    "text": _text,
    "markdown": _markdown,
    "latex": _latex,
}


_COLUMNS = {"source": "ood_source", "percent": "ood_percent"}
_INTERVAL = "_interval"


def to_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows of plain values as CSV, with the column names of the paper's tables; None is empty.

    As in the paper, a supervised baseline has no source and no percentage. An interval has two
    columns.
    """
    keys = list(rows[0]) if rows else []
    columns = [name for key in keys for name in _names(key)]
    return csv_text(columns, ([each for key in keys for each in _values(row, key)] for row in rows))


def _names(key: str) -> list[str]:
    stem = key.removesuffix(_INTERVAL)
    return [_COLUMNS.get(key, key)] if stem == key else [f"{stem}_low", f"{stem}_high"]


def _values(row: Mapping[str, object], key: str) -> list[object]:
    value = row[key]
    if key.endswith(_INTERVAL):
        return [None, None] if value is None else list(value)  # type: ignore[call-overload]
    is_supervised = row.get("algorithm") in SUPERVISED
    return [None if is_supervised and key in _COLUMNS else value]
