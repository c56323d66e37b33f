"""The table of a ranking: numbers are never cut, the bar fills the rest of the line."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from mixmood.core.records.ranking import SIGNIFICANT, Ranking
from mixmood.report.charts.printable import printable
from mixmood.report.charts.scale import ASCII, UNICODE, Marks, Scale

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
