"""A ranking in the terminal: a table, the noise floor, and one sentence."""

import io
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.text import Text

from mixmood.core.records.ranking import Ranking
from mixmood.core.words import counted
from mixmood.report.charts.printable import printable
from mixmood.report.ranking.table import RankingTable
from mixmood.report.ranking.warning_lines import warning_lines

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
