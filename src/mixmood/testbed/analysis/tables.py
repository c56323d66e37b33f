"""The paper's three tables, drawn from records alone."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from mixmood.core.errors import InputError
from mixmood.report.testbed.sheet import Sheet, Word
from mixmood.testbed.analysis.agreement import AgreementRow, agreement_rows
from mixmood.testbed.analysis.line import GroupLine, fitted_lines
from mixmood.testbed.analysis.published import (
    paper_accuracy,
    published_correlations,
    published_distances,
)
from mixmood.testbed.analysis.summary import (
    AccuracyRow,
    Choice,
    DistanceRow,
    Gaps,
    accuracy_rows,
    chosen_records,
    distance_rows,
    gaps,
)
from mixmood.testbed.grid.cells import Selection
from mixmood.testbed.runs.store import Record, Store

MISSING = Word("-")
Place = tuple[str, str, str, str, float]
"""A row of Table 1: task, algorithm, contamination, source and percent."""


@dataclass(frozen=True)
class Tables:
    """All numbers of the three tables. Table 3 is empty where too few cells can be correlated."""

    choice: Choice
    n_seeds: int
    accuracies: list[AccuracyRow]
    distances: list[DistanceRow]
    agreements: list[AgreementRow]
    lines: list[GroupLine]
    gaps: Gaps

    def to_dict(self) -> dict[str, object]:
        """The tables in plain values."""
        return {
            "selection": self.choice,
            "gaps": asdict(self.gaps),
            "table1": [asdict(row) for row in self.accuracies],
            "table2": [asdict(row) for row in self.distances],
            "table3": [asdict(row) for row in self.agreements],
        }


def make_tables(
    store: Store,
    choice: Choice,
    only: Selection | None = None,
    records: Sequence[Record] | None = None,
) -> Tables:
    """The tables of a store, or of some of its cells; `records` are those runs, if read before."""
    records = chosen_records(store, only) if records is None else records
    accuracies = accuracy_rows(records, choice)
    try:
        agreements = agreement_rows(records, choice)
    except InputError:
        agreements = []
    return Tables(
        choice,
        store.config.grid.seeds,
        accuracies,
        distance_rows(records),
        agreements,
        fitted_lines(records, choice),
        gaps(store, only),
    )


def accuracy_sheet(tables: Tables, beside_paper: bool) -> Sheet:
    """Table 1: accuracy of every cell, the best of each task and number of labels marked."""
    rows = {(_place(row), row.n_labelled): row for row in tables.accuracies}
    places = list(dict.fromkeys(place for place, _ in rows))
    labels = sorted({n_labelled for _, n_labelled in rows})
    best = {
        (task, n): max(r.accuracy_mean for (p, m), r in rows.items() if p[0] == task and m == n)
        for (task, *_), n in rows
    }
    columns = ["task", "pool"]
    for n in labels:
        columns += [f"n={n}", "paper", "diff"] if beside_paper else [f"n={n}"]
    lines = []
    for place in places:
        line = [Word(place[0]), Word(_pool(place, tables.accuracies))]
        for n in labels:
            row = rows.get((place, n))
            line.append(_accuracy_word(row, tables.n_seeds, best.get((place[0], n))))
            if beside_paper:
                ours = None if row is None else row.accuracy_mean
                line += _beside(ours, _paper_accuracy(place, n))
        lines.append(line)
    title = f"Table 1. Test accuracy, mean ± standard deviation; epoch: {tables.choice}"
    return Sheet(title, columns, lines, _notes(tables))


def distance_sheet(tables: Tables, beside_paper: bool) -> Sheet:
    """Table 2: distances of every cell; those that are not significant are marked."""
    found = {(_place(row), row.n_labelled, row.measure): row for row in tables.distances}
    measures = list(dict.fromkeys(measure for _, _, measure in found))
    columns = ["task", "pool", "n"]
    for measure in measures:
        columns += [measure, "paper", "diff"] if beside_paper else [measure]
    lines = []
    for place, n in dict.fromkeys((place, n) for place, n, _ in found):
        line = [Word(place[0]), Word(_pool(place, tables.accuracies)), Word(str(n))]
        for measure in measures:
            row = found.get((place, n, measure))
            line.append(_distance_word(row))
            if beside_paper:
                key = (place[0], place[3], place[4], measure)
                ours = None if row is None else row.distance_mean
                line += _beside(ours, published_distances().get(key))
        lines.append(line)
    title = "Table 2. Distance of the pool from the labelled images, mean ± standard deviation"
    return Sheet(title, columns, lines, _notes(tables))


def agreement_sheet(tables: Tables, beside_paper: bool) -> Sheet:
    """Table 3: correlation of distance and accuracy, and regret, with intervals over seeds."""
    columns = ["task", "n", "measure", "Pearson"]
    columns += ["paper", "diff"] if beside_paper else []
    columns += ["Spearman", "regret (points)", "cells", "seeds"]
    lines = []
    for row in tables.agreements:
        line = [Word(_variant(row, tables.accuracies)), Word(str(row.n_labelled))]
        line += [Word(row.measure), Word(_with_interval(row.pearson, row.pearson_interval))]
        if beside_paper:
            key = (row.task, row.n_labelled, row.measure)
            line += _beside(row.pearson, published_correlations().get(key))
        line += [
            Word(_with_interval(row.spearman, row.spearman_interval)),
            Word(_with_interval(row.regret_points, row.regret_interval, 1)),
            Word(str(row.n_cells)),
            Word(str(row.n_seeds)),
        ]
        lines.append(line)
    title = (
        "Table 3. Distance against accuracy over the contaminated cells; in brackets 95 % "
        "bootstrap intervals over seeds"
    )
    few = [] if lines else ["No task has three contaminated cells that share a seed."]
    return Sheet(title, columns, lines, [*few, *_notes(tables)])


def _place(row: AccuracyRow | DistanceRow) -> Place:
    return row.task, row.algorithm, row.contamination, row.source, row.percent


def _pool(place: Place, rows: Sequence[AccuracyRow]) -> str:
    _, algorithm, contamination, source, percent = place
    if algorithm.startswith("supervised"):
        return f"{algorithm.replace('-', ', same ')}"
    words = [f"{source} {percent:g} %"]
    words += _distinct(algorithm, [r.algorithm for r in rows if not r.cell.is_supervised])
    words += _distinct(contamination, [row.contamination for row in rows])
    return ", ".join(words)


def _variant(row: AgreementRow, rows: Sequence[AccuracyRow]) -> str:
    words = [row.task]
    words += _distinct(row.algorithm, [r.algorithm for r in rows if not r.cell.is_supervised])
    words += _distinct(row.contamination, [r.contamination for r in rows])
    return ", ".join(words)


def _distinct(word: str, words: Sequence[str]) -> list[str]:
    """The word where it tells something apart."""
    return [word] if len(set(words)) > 1 else []


def _accuracy_word(row: AccuracyRow | None, n_seeds: int, best: float | None) -> Word:
    if row is None:
        return MISSING
    text = _with_spread(row.accuracy_mean, row.accuracy_spread)
    few = f" ({row.n_runs} runs)" if row.n_runs < n_seeds else ""
    return Word(text + few, is_best=row.accuracy_mean == best)


def _distance_word(row: DistanceRow | None) -> Word:
    if row is None:
        return MISSING
    text = _with_spread(row.distance_mean, row.distance_spread)
    return Word(text, is_weak=not row.is_significant)


def _paper_accuracy(place: Place, n_labelled: int) -> float | None:
    task, algorithm, _, source, percent = place
    return paper_accuracy(task, algorithm, source, percent, n_labelled)


def _beside(ours: float | None, theirs: float | None) -> list[Word]:
    if theirs is None:
        return [MISSING, MISSING]
    return [Word(f"{theirs:.3f}"), MISSING if ours is None else Word(f"{ours - theirs:+.3f}")]


def _with_spread(mean: float, spread: float | None) -> str:
    return f"{mean:.3f}" if spread is None else f"{mean:.3f} ± {spread:.3f}"


def _with_interval(
    value: float | None, interval: tuple[float, float] | None, digits: int = 3
) -> str:
    if value is None:
        return "-"
    if interval is None:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]"


def _notes(tables: Tables) -> list[str]:
    return [told] if (told := tables.gaps.told()) else []
