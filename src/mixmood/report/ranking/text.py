"""A ranking as text: the table and sentences of the terminal, and CSV."""

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from mixmood.core.files import csv_text
from mixmood.core.records.ranking import SIGNIFICANT, Candidate, Dissimilarity, Ranking
from mixmood.core.text import counted, either_form
from mixmood.report.text import printable

WIDE_RATIO = 20
"""If the largest distance is more times the smallest, the scale is logarithmic."""


class Marks(NamedTuple):
    """The characters that a bar is made of."""

    left: str
    line: str
    dot: str
    right: str
    floor: str


UNICODE = Marks("├", "─", "●", "┤", "┊")
ASCII = Marks("|", "-", "o", "|", ":")


@dataclass(frozen=True)
class Scale:
    """Maps a distance to a column, 0 to width - 1."""

    low: float
    high: float
    width: int
    is_log: bool

    @classmethod
    def over(cls, results: Sequence[Dissimilarity], floor: float, width: int) -> "Scale":
        """A scale that includes every interval."""
        high = max(result.interval[1] for result in results) or 1.0
        nearest = min((d for d in [*(r.distance for r in results), floor] if d > 0), default=high)
        is_log = high / nearest > WIDE_RATIO
        return cls(nearest / 3 if is_log else 0.0, high, width, is_log)

    def column(self, value: float) -> int:
        """The column of a value; a value outside the scale is put at its end."""
        if self.is_log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = value / self.high
        return round(min(max(share, 0.0), 1.0) * (self.width - 1))

    def bar(self, result: Dissimilarity, floor: float, marks: Marks = UNICODE) -> str:
        """The interval as a bar with the distance on it, and the noise floor as a line."""
        cells = [" "] * self.width
        cells[self.column(floor)] = marks.floor
        low, high = (self.column(end) for end in result.interval)
        cells[low : high + 1] = [marks.line] * (high + 1 - low)
        cells[low], cells[high] = marks.left, marks.right
        cells[self.column(result.distance)] = marks.dot
        return "".join(cells)


BAR_WIDTH = 30
LEAST_BAR = 10
"""A narrower bar cannot be read and is left out."""
LEAST_NAME = 12
"""The bar is left out where it would leave names less than this width."""
GAP = 2
"""Spaces between columns."""
OPTIONAL = ("images", "ranks", "p (Holm)", "P(best)")
"""Columns that are left out, in this order, if the terminal is too narrow for all."""
STYLES = {"use": "green", "avoid": "red", "filter": "yellow", None: "", "unsure": ""}


@dataclass(frozen=True)
class Column:
    """One column, ready to be printed."""

    head: str
    cells: Sequence[Text]
    width: int
    justify: Literal["left", "right"] = "right"
    style: str = ""

    @classmethod
    def of(
        cls, head: str, cells: Sequence[Text], justify: Literal["left", "right"] = "right"
    ) -> "Column":
        """A column that is wide enough to cut nothing."""
        return cls(head, cells, max(map(cell_len, [head, *(c.plain for c in cells)])), justify)


class RankingTable:
    """The table of one measure, laid out for the width that it is printed at."""

    def __init__(self, ranking: Ranking, measure: str, is_plain: bool) -> None:
        """Show this measure; plain means ASCII bars and no line below the heads."""
        self._ranking, self._measure = ranking, measure
        # The main table is in the order that was asked for, by gain or by distance.
        self._is_main = measure == ranking.measure
        self._pools = ranking.candidates if self._is_main else ranking.ordered_by(measure)
        self._is_plain = is_plain
        self._marks: Marks = ASCII if is_plain else UNICODE

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, with the widest bar that fits."""
        table = self._frame()
        columns = self._columns(options.max_width)
        for column in columns:
            table.add_column(
                column.head,
                width=column.width,
                justify=column.justify,
                style=column.style,
                no_wrap=column.head != "pool",
                overflow="fold",
            )
        for row in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*row)
        yield table

    def _frame(self) -> Table:
        """The table without columns."""
        floor = self._ranking.noise_floor[self._measure]
        return Table(
            box=None if self._is_plain else box.SIMPLE_HEAD,
            show_edge=False,
            padding=(0, GAP if self._is_plain else GAP - 1, 0, 0),  # a box has a space of its own
            pad_edge=False,
            caption=f"noise floor ({self._marks.floor}): {floor.distance:.3g}, "
            f"95 % of it below {floor.upper:.3g}",
            caption_justify="left",
        )

    def _columns(self, width: int) -> list[Column]:
        """The columns that fit into a width."""
        rank, name, *numbers = self._all_columns()
        for head in OPTIONAL:
            # Where there is advice, the bar matters more than the number of images.
            bar = LEAST_BAR + GAP if head == "images" and numbers[-1].head == "advice" else 0
            if _total([rank, *numbers]) + min(name.width, LEAST_NAME) + bar > width:
                numbers = [column for column in numbers if column.head != head]
        others = _total([rank, *numbers])
        name_width, bar_width = name_and_bar_widths(name.width, others, width)
        if bar_width:
            place = [column.head for column in numbers].index(self._measure) + 1
            numbers.insert(place, self._bars(bar_width))
        return [rank, replace(name, width=name_width), *numbers]

    def _all_columns(self) -> list[Column]:
        """All columns but the bar."""
        pools = self._pools
        results = [pool.measures[self._measure] for pool in pools]
        places = pools if self._is_main else results
        names = [Text(printable(p.name) + (" !" if p.warnings else "")) for p in pools]
        distance = Column.of(self._measure, [Text(f"{r.distance:.3g}") for r in results])
        return [
            Column.of("rank", [Text(str(place.rank)) for place in places]),
            Column.of("pool", names, "left"),
            Column.of("images", [Text(f"{pool.n_images:,}") for pool in pools]),
            replace(distance, style="bold"),
            Column.of("p (Holm)", [_p_value(result.p_holm) for result in results]),
            Column.of("P(best)", [Text(_chance(place.p_best)) for place in places]),
            Column.of("ranks", [Text(_span(place.rank_interval)) for place in places]),
            *self._outlook(),
        ]

    def _outlook(self) -> list[Column]:
        """Gain and advice, beside the measure that ranks."""
        pools = self._pools
        if not self._is_main:
            return []
        columns = []
        if any(pool.probe for pool in pools):
            gains = [Text(f"{pool.probe.gain:+.1f}" if pool.probe else "-") for pool in pools]
            columns.append(Column.of("gain", gains))
        if any(pool.advice for pool in pools):
            words = [Text(pool.advice or "-", style=STYLES.get(pool.advice, "")) for pool in pools]
            columns.append(Column.of("advice", words, "left"))
        return columns

    def _bars(self, width: int) -> Column:
        """Intervals on a common scale."""
        floor = self._ranking.noise_floor[self._measure].distance
        results = [pool.measures[self._measure] for pool in self._pools]
        scale = Scale.over(results, floor, width)
        log = " (log)" if scale.is_log else ""
        head = f"95 % interval{log}"
        bars = [
            Text(
                scale.bar(result, floor, self._marks),
                style="green" if result.rank_interval and result.rank_interval[0] == 1 else "red",
            )
            for result in results
        ]
        return Column(head if len(head) <= width else f"95 %{log}", bars, width, "left")


def name_and_bar_widths(name: int, others: int, width: int) -> tuple[int, int]:
    """The widths of names and bar: first the bar shrinks, then names wrap, then the bar is dropped.

    Args:
        name: The width of the longest name.
        others: The width of the columns of numbers together with their gaps.
        width: The width of the terminal.

    >>> [name_and_bar_widths(*widths) for widths in ((15, 48, 120), (15, 48, 80))]
    [(15, 30), (15, 15)]
    >>> [name_and_bar_widths(*widths) for widths in ((40, 48, 80), (40, 48, 60))]
    [(20, 10), (12, 0)]
    """
    left = width - others
    beside_bar = left - GAP - LEAST_BAR
    if beside_bar >= name:
        return name, min(BAR_WIDTH, left - GAP - name)
    if beside_bar >= LEAST_NAME:
        return beside_bar, LEAST_BAR
    return max(min(name, left), 1), 0


def _total(columns: Sequence[Column]) -> int:
    """The width of the columns, each with the gap after it."""
    return sum(column.width + GAP for column in columns)


def _p_value(value: float) -> Text:
    return Text(f"{value:.2g}", style="" if value <= SIGNIFICANT else "green")


def _chance(share: float | None) -> str:
    """A probability with two digits; an estimated error cannot show certainty."""
    if share is None:
        return "-"
    if share > 0.99:
        return "> 0.99"
    return "< 0.01" if share < 0.01 else f"{share:.2f}"


def _span(ranks: tuple[int, int] | None) -> str:
    if ranks is None:
        return "-"
    return str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]}-{ranks[1]}"


MOST_POOLS = 8
"""Pools whose warnings are shown; with hundreds of pools they would hide the result."""


def warning_lines(ranking: Ranking, all_of_them: str) -> Iterator[str]:
    """All warnings of the ranking itself, those of the first pools, and the number of other pools.

    Args:
        ranking: The record.
        all_of_them: Where the reader finds the warnings that are left out.
    """
    yield from ranking.warnings
    pools = [pool for pool in ranking.candidates if pool.warnings]
    for pool in pools[:MOST_POOLS]:
        for warning in pool.warnings:
            yield f"{pool.name}: {warning}"
    n_more = len(pools) - MOST_POOLS
    if n_more > 0:
        have = either_form(n_more, "has", "have")
        yield f"{counted(n_more, 'more pool')} {have} warnings: see {all_of_them}."


MOST_REASONS = 8
"""Pools whose advice is explained in the terminal."""
IN_FULL = "--json or --html"


def ranking_view(ranking: Ranking, is_plain: bool = False) -> RenderableType:
    """The ranking as something rich can print; plain means ASCII bars and no frame."""
    parts: list[RenderableType] = [Text(_headline(ranking), style="bold")]
    measures = list(ranking.candidates[0].measures)
    for measure in measures:
        parts += [] if is_plain else [Text()]
        parts.append(RankingTable(ranking, measure, is_plain))
    parts.append(Text(f"\n{_answer(ranking, measures)}", style="bold green"))
    parts += _recommended(ranking)
    parts += [Text(printable(line)) for line in _reasons(ranking)]
    parts += [Text(printable(text)) for text in ranking.notes]
    parts += [
        Text(f"! {printable(text)}", style="yellow") for text in warning_lines(ranking, IN_FULL)
    ]
    parts += [
        Text(printable(f"! set aside, {one.name}: {one.reason}"), style="yellow")
        for one in ranking.set_aside
    ]
    return Group(*parts)


def plain_text(view: RenderableType, width: int) -> str:
    """The text of a view, without colours."""
    stream = io.StringIO()
    Console(file=stream, width=width, no_color=True, highlight=False).print(view, crop=False)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _answer(ranking: Ranking, measures: Sequence[str]) -> str:
    """The verdict; if there are several measures, with the one that ranks."""
    ranked_by = f" Ranked by {ranking.measure}." if len(measures) > 1 else ""
    return printable(ranking.verdict) + ranked_by


def _recommended(ranking: Ranking) -> Iterator[Text]:
    """The recommendation and the next command, which stays on one line so that it can be copied."""
    if ranking.recommendation is not None:
        yield Text(printable(ranking.recommendation.sentence), style="green")
        if ranking.recommendation.command is not None:
            command = printable(f"Next: {ranking.recommendation.command}")
            yield Text(command, style="green", no_wrap=True, overflow="ignore")


def _reasons(ranking: Ranking) -> Iterator[str]:
    """Why each pool should be used, filtered or avoided, with the numbers."""
    advised = [pool for pool in ranking.candidates if pool.advice and pool.advice_reason]
    for pool in advised[:MOST_REASONS]:
        yield f"{pool.name}: {pool.advice}; {pool.advice_reason}."
    if len(advised) > MOST_REASONS:
        n_more = counted(len(advised) - MOST_REASONS, "more pool")
        yield f"{n_more}: see {IN_FULL}."


def _headline(ranking: Ranking) -> str:
    labelled = ranking.labelled
    n_classes = len(labelled.classes or ())
    classes = f" in {counted(n_classes, 'class', 'classes')}" if n_classes else ""
    return (
        f"{printable(labelled.name)}: {counted(labelled.n_images, 'labelled image')}{classes}; "
        f"{ranking.draws} draws of {ranking.sample_size}, seed {ranking.seed}, "
        f"{printable(str(ranking.backbone['name']))}"
    )


RANKING_COLUMNS = (
    "rank", "name", "measure", "distance", "interval_low", "interval_high", "spread", "signed",
    "p_wilcoxon", "p_permutation", "p_holm", "p_best", "rank_low", "rank_high", "n_images",
    "n_unreadable", "n_read", "n_distinct", "gain", "gain_low", "gain_high", "p_helps",
    "useful_share", "advice",
)  # fmt: skip


def ranking_csv(ranking: Ranking) -> str:
    """One row for each pool and measure; the pools of a measure are together, nearest first."""
    return csv_text(
        RANKING_COLUMNS,
        (
            _row(candidate, measure)
            for measure in ranking.noise_floor
            for candidate in ranking.ordered_by(measure)
        ),
    )


def _row(candidate: Candidate, measure: str) -> tuple[object, ...]:
    """A pool by one measure; rank and chance are those of this measure."""
    result, probe, share = candidate.measures[measure], candidate.probe, candidate.useful_share
    gain = (probe.gain, *probe.interval, probe.p_helps) if probe else (None,) * 4
    return (
        result.rank, candidate.name, measure, result.distance, *result.interval,
        result.spread, result.signed, result.p_wilcoxon, result.p_permutation,
        result.p_holm, result.p_best, *(result.rank_interval or (None, None)), candidate.n_images,
        candidate.n_unreadable, candidate.n_read, candidate.n_distinct, *gain,
        share.share if share else None, candidate.advice,
    )  # fmt: skip
