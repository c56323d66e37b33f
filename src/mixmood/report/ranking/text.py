"""A ranking as text: the table and sentences of the terminal, and CSV."""

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from mixmood.core.files import csv_text
from mixmood.core.records.ranking import SIGNIFICANT, Candidate, Dissimilarity, Ranking
from mixmood.core.text import counted, either_form, in_percent
from mixmood.evidence.advice import chance, percent
from mixmood.report.text import in_view, printable

Marks = tuple[str, str, str, str, str]
UNICODE: Marks = ("├", "─", "●", "┤", "┊")
ASCII: Marks = ("|", "-", "o", "|", ":")
"""The characters of a bar: its left end, line, dot and right end, and the noise floor."""
WIDE_RATIO = 20  # if the largest distance is more times the smallest, the scale is logarithmic
BAR_WIDTH = 30
LEAST_BAR = 10  # a narrower bar cannot be read and is left out
LEAST_NAME = 12  # the bar is left out where it would leave names less than this width
GAP = 2  # spaces between columns
INTERVAL = "95 % interval"
OPTIONAL = ("images", "ranks", "p (Holm)", "P(nearest)")  # left out first in narrow terminals
STYLES = {"use": "green", "avoid": "red", "filter": "yellow", None: "", "unsure": ""}


def interval_bars(
    results: Sequence[Dissimilarity], floor: float, width: int, marks: Marks = UNICODE
) -> tuple[list[str], bool]:
    """Intervals as bars with distance and noise floor, and whether their scale is logarithmic."""
    high = max(result.interval[1] for result in results) or 1.0
    nearest = min((d for d in [*(r.distance for r in results), floor] if d > 0), default=high)
    is_log, low = high / nearest > WIDE_RATIO, nearest / 3
    left, line, dot, right, floor_mark = marks

    def column(value: float) -> int:
        share = log(max(value, low) / low) / log(high / low) if is_log else value / high
        return round(min(max(share, 0.0), 1.0) * (width - 1))

    def bar(result: Dissimilarity) -> str:
        cells = [" "] * width
        cells[column(floor)] = floor_mark
        first, last = map(column, result.interval)
        cells[first : last + 1] = [line] * (last + 1 - first)
        cells[first], cells[last] = left, right
        cells[column(result.distance)] = dot
        return "".join(cells)

    return [bar(result) for result in results], is_log


def table_cells(ranking: Ranking, measure: str) -> dict[str, list[Text]]:
    """The table of distances by one measure, nearest first: the cells of a column by its head."""
    is_main = measure == ranking.measure and ranking.by == "distance"
    pools = ranking.ordered_by(measure)
    results = [pool.measures[measure] for pool in pools]
    cells = {
        "rank": [Text(str(result.rank)) for result in results],
        "pool": [_name(pool) for pool in pools],
        "images": [Text(f"{pool.n_images:,}") for pool in pools],
        measure: [Text(f"{result.distance:.3g}") for result in results],
        INTERVAL: [Text("{:.3g} to {:.3g}".format(*result.interval)) for result in results],
        "p (Holm)": [
            Text(f"{result.p_holm:.2g}", style="" if result.p_holm <= SIGNIFICANT else "green")
            for result in results
        ],
        "P(nearest)": [Text(chance(result.p_best)) for result in results],
        "ranks": [Text(_span(result.rank_interval)) for result in results],
    }
    if is_main and any(pool.probe for pool in pools):
        cells["gain"] = [Text(f"{pool.probe.gain:+.1f}" if pool.probe else "-") for pool in pools]
    if is_main and any(pool.advice for pool in pools):
        cells["advice"] = [_advice(pool) for pool in pools]
    return cells


def _name(pool: Candidate) -> Text:
    return Text(printable(pool.name) + (" !" if pool.warnings else ""))


def _advice(pool: Candidate) -> Text:
    return Text(pool.advice or "-", style=STYLES.get(pool.advice, ""))


def _table(
    cells: Mapping[str, list[Text]],
    is_plain: bool,
    left: Collection[str],
    widths: Mapping[str, int] | None = None,
    heads: Mapping[str, str] | None = None,
    **how: Any,
) -> Table:
    """The cells below their heads; columns are on the right unless they are named in `left`."""
    # A box has a space of its own.
    padding = (0, GAP if is_plain else GAP - 1, 0, 0)
    kind = None if is_plain else box.SIMPLE_HEAD
    table = Table(box=kind, show_edge=False, padding=padding, pad_edge=False, **how)
    for head in cells:
        table.add_column(
            (heads or {}).get(head, head),
            width=(widths or {}).get(head),
            justify="left" if head in left else "right",
            no_wrap=head != "pool",
            overflow="fold",
        )
    for row in zip(*cells.values(), strict=True):
        table.add_row(*row)
    return table


def _span(ranks: tuple[int, int]) -> str:
    """Possible ranks: `2`, or `1-3`."""
    return "-".join(map(str, dict.fromkeys(ranks)))


@dataclass(frozen=True)
class RankingTable:
    """The table of one measure, laid out for the width that it is printed at."""

    ranking: Ranking
    measure: str
    is_plain: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, with the widest bar that fits."""
        cells = table_cells(self.ranking, self.measure)
        floor = self.ranking.noise_floor[self.measure]
        widths = {
            head: max(cell_len(head), *(cell_len(cell.plain) for cell in column))
            for head, column in cells.items()
        }
        others = {head: widths[head] + GAP for head in widths if head not in ("pool", INTERVAL)}
        for head in OPTIONAL:
            # Where there is advice, the bar matters more than the number of images.
            least = LEAST_BAR + GAP if head == "images" and "advice" in cells else 0
            least += min(widths["pool"], LEAST_NAME)
            if sum(others.values()) + least > options.max_width:
                del others[head]
        names, bars = name_and_bar_widths(widths["pool"], sum(others.values()), options.max_width)
        marks, heads = ASCII if self.is_plain else UNICODE, {}
        widths |= {"pool": names, INTERVAL: bars}
        if bars:
            ordered = self.ranking.ordered_by(self.measure)
            results = [pool.measures[self.measure] for pool in ordered]
            drawn, is_log = interval_bars(results, floor.upper, bars, marks)
            scale = " (log)" if is_log else ""
            head = f"{INTERVAL}{scale}"
            heads[INTERVAL] = head if len(head) <= bars else f"95 %{scale}"
            styles = ["green" if one.rank_interval[0] == 1 else "red" for one in results]
            cells[INTERVAL] = [Text(*own) for own in zip(drawn, styles, strict=True)]
        for cell in cells[self.measure]:
            cell.stylize("bold")
        shown = {"pool", *others, *([INTERVAL] if bars else [])}
        yield _table(
            {head: cells[head] for head in cells if head in shown},
            self.is_plain,
            ("pool", INTERVAL, "advice"),
            widths,
            heads,
            caption=f"noise floor ({marks[-1]}): up to {floor.upper:.3g}",
            caption_justify="left",
        )


def name_and_bar_widths(name: int, others: int, width: int) -> tuple[int, int]:
    """The widths of names and bar: first the bar shrinks, then names wrap, then the bar is dropped.

    `name` is the width of the longest name, `others` that of the other columns with their gaps.

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


MOST_POOLS = 8  # whose warnings or advice are explained; hundreds would hide the result
IN_FULL = "--json or --html"


def side_lines(ranking: Ranking, all_of_them: str) -> Iterator[str]:
    """All warnings of the ranking, those of the first pools, and the pools that were set aside."""
    yield from (f"! {warning}" for warning in ranking.warnings)
    pools = [pool for pool in ranking.candidates if pool.warnings]
    for pool in pools[:MOST_POOLS]:
        yield from (f"! {pool.name}: {warning}" for warning in pool.warnings)
    n_more = len(pools) - MOST_POOLS
    if n_more > 0:
        have = either_form(n_more, "has", "have")
        yield f"! {counted(n_more, 'more pool')} {have} warnings: see {all_of_them}."
    for one in ranking.set_aside:
        yield f"! set aside, {one.name}: {one.reason}"


ADVICE_ORDER = ("use", "filter", "unsure", "avoid", None)
NEAR = {"same": "same", "different": "differs", "nearer": "too near"}


def by_advice(pool: Candidate) -> tuple[int, float, str]:
    """What orders pools: their advice, then their gain; by name where they are to be avoided."""
    gain = pool.probe.gain if pool.probe and pool.advice != "avoid" else 0.0
    return ADVICE_ORDER.index(pool.advice), -gain, pool.name


def answer_cells(ranking: Ranking) -> dict[str, list[Text]]:
    """The table of the answer: the cells of each column by its head."""
    pools = sorted(ranking.candidates, key=by_advice)
    probes, shares = [p.probe for p in pools], [p.useful_share for p in pools]
    return {
        "pool": [_name(pool) for pool in pools],
        "advice": [_advice(pool) for pool in pools],
        "gain (95 %)": [
            Text("{:+.1f} ({:+.1f} to {:+.1f})".format(one.gain, *one.interval) if one else "-")
            for one in probes
        ],
        "helps": [Text(percent(one.p_helps) if one else "-") for one in probes],
        "useful share": [Text(str(share or "-")) for share in shares],
        "near?": [Text(NEAR[p.nearness]) for p in pools],
    }


def ranking_view(
    ranking: Ranking, is_plain: bool = False, is_verbose: bool = False
) -> RenderableType:
    """The ranking as something rich can print; plain means ASCII bars and no frame.

    By gain, the answer and a table of gains; distances follow if `is_verbose`.
    """
    is_by_gain, union = ranking.by == "gain", ranking.union
    parts: list[RenderableType] = [Text(_headline(ranking), style="bold")]
    if is_by_gain:
        parts += [Text(printable(ranking.answer), style="bold green"), Text()]
        cells = answer_cells(ranking)
        parts.append(_table(cells, is_plain, [head for head in cells if head != "helps"]))
        if union is not None and union.probe.interval[0] <= 0:
            n_labels = counted(ranking.labelled.n_used, "label")
            parts.append(Text(f"A gain this small cannot be confirmed with {n_labels}."))
    if not is_by_gain or is_verbose:
        parts += _distance_parts(ranking, is_plain)
    if not is_by_gain:
        parts.append(Text(printable(ranking.answer), style="green"))
    if ranking.next is not None:
        # On one line, so that it can be copied.
        command = printable(f"Next: {ranking.next}")
        parts.append(Text(command, style="green", no_wrap=True, overflow="ignore"))
    lines = [*(_reasons(ranking) if is_verbose else ())]
    lines += ranking.notes if is_verbose or not is_by_gain else ()
    parts += [Text(printable(line)) for line in lines]
    parts += [Text(printable(line), style="yellow") for line in side_lines(ranking, IN_FULL)]
    return Group(*parts)


def _distance_parts(ranking: Ranking, is_plain: bool) -> Iterator[RenderableType]:
    """A table for each measure, how it was made, and which pool is the nearest."""
    measures = ranking.candidates[0].measures
    seen = f" at {in_view(ranking.view)}" if ranking.view else ""
    yield Text(
        f"\n{ranking.draws} draws of {ranking.sample_size}, seed {ranking.seed}, "
        f"{printable(str(ranking.backbone['name']))}{seen}"
    )
    if ranking.view:
        yield Text(printable(str(ranking.view["reason"])))
    for measure in measures:
        if not is_plain:
            yield Text()
        yield RankingTable(ranking, measure, is_plain)
    ranked_by = f" Ranked by {ranking.measure}." if len(measures) > 1 else ""
    yield Text(f"\n{printable(ranking.verdict)}{ranked_by}", style="bold green")


def plain_text(view: RenderableType, width: int) -> str:
    """The text of a view, without colours."""
    stream = io.StringIO()
    Console(file=stream, width=width, no_color=True, highlight=False).print(view, crop=False)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _reasons(ranking: Ranking) -> Iterator[str]:
    """Why each pool should be used, filtered or avoided, with the numbers."""
    advised = [pool for pool in ranking.candidates if pool.advice and pool.advice_reason]
    for pool in advised[:MOST_POOLS]:
        order = ""
        if ranking.by == "gain" and len(ranking.candidates) > 1:
            order = f"; P(gains most) {chance(pool.p_best)}, rank {_span(pool.rank_interval)}"
        yield f"{pool.name}: {pool.advice}; {pool.advice_reason}{order}."
    if len(advised) > MOST_POOLS:
        yield f"{counted(len(advised) - MOST_POOLS, 'more pool')}: see {IN_FULL}."


def _headline(ranking: Ranking) -> str:
    """The labelled images, their view and their accuracy: 80 columns at most in most cases."""
    labelled = ranking.labelled
    n_classes = sum(size > 0 for size in (labelled.classes or {}).values())
    # Without classes there are no labels to count.
    size = counted(labelled.n_images, "label" if n_classes else "labelled image")
    if labelled.n_used < labelled.n_images:
        size += f" ({labelled.n_used:,} used)"
    classes = f", {counted(n_classes, 'class', 'classes')}" if n_classes else ""
    seen = f", {in_view(ranking.view)}" if ranking.view else ""
    right, accuracy = "", labelled.accuracy
    if accuracy is not None:
        low, high = (f"{100 * end:.0f}" for end in accuracy.interval)
        right = f": {in_percent(accuracy.value)} right without a pool ({low} to {high})"
        if labelled.is_imbalanced:
            right += f", {in_percent(accuracy.balanced)} as the mean over classes"
    return f"{size}{classes}{seen}{right}"


def ranking_rows(ranking: Ranking) -> list[dict[str, object]]:
    """One row for each measure and pool, nearest first; rank and chance are by that measure."""
    rows = []
    for measure in ranking.noise_floor:
        for pool in ranking.ordered_by(measure):
            found, probe, share = pool.measures[measure], pool.probe, pool.useful_share
            names = ("spread", "signed", "p_wilcoxon", "p_permutation", "p_holm", "p_best")
            sizes = ("n_images", "n_unreadable", "n_read", "n_distinct")
            row = {
                "rank": found.rank,
                "name": pool.name,
                "measure": measure,
                "distance": found.distance,
                "interval_low": found.interval[0],
                "interval_high": found.interval[1],
                **{name: getattr(found, name) for name in names},
                "rank_low": found.rank_interval[0],
                "rank_high": found.rank_interval[1],
                **{name: getattr(pool, name) for name in sizes},
                "gain": probe.gain if probe else None,
                "gain_low": probe.interval[0] if probe else None,
                "gain_high": probe.interval[1] if probe else None,
                "p_helps": probe.p_helps if probe else None,
                "useful_share": share.share if share else None,
                "advice": pool.advice,
                "nearness": pool.nearness,
            }
            rows.append(row)
    return rows


def ranking_csv(ranking: Ranking) -> str:
    """The rows of `ranking_rows` as CSV."""
    rows = ranking_rows(ranking)
    return csv_text(list(rows[0]), (list(row.values()) for row in rows))
