"""A ranking in the terminal: a table, the noise floor, and one sentence."""

import io
from collections.abc import Iterator

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from mixmood.core.records import Candidate, Ranking
from mixmood.report.printable import printable
from mixmood.report.scale import DRAWN, TYPED, Scale

BAR_WIDTH = 30
SIGNIFICANT = 0.05


def ranking_view(ranking: Ranking, is_plain: bool = False) -> RenderableType:
    """The ranking as something rich can print; plain means ASCII bars and no frame."""
    parts: list[RenderableType] = [Text(_headline(ranking), style="bold")]
    parts += [_table(ranking, measure, is_plain) for measure in ranking.candidates[0].measures]
    parts.append(Text(f"\n{printable(ranking.verdict)}", style="bold green"))
    parts += [Text(f"! {printable(text)}", style="yellow") for text in _warnings(ranking)]
    return Group(*parts)


def plain_text(view: RenderableType, width: int) -> str:
    """What a view looks like without colours."""
    stream = io.StringIO()
    Console(file=stream, width=width, no_color=True, highlight=False).print(view)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _headline(ranking: Ranking) -> str:
    labelled = ranking.labelled
    classes = f" in {len(labelled.classes)} classes" if labelled.classes else ""
    return (
        f"{printable(labelled.name)}: {labelled.n_images} labelled images{classes}; "
        f"{ranking.draws} draws of {ranking.sample_size}, seed {ranking.seed}, "
        f"{printable(str(ranking.backbone['name']))}"
    )


def _table(ranking: Ranking, measure: str, is_plain: bool) -> Table:
    results = [candidate.measures[measure] for candidate in ranking.candidates]
    floor = ranking.noise_floor[measure]
    scale = Scale.over(results, floor.distance, BAR_WIDTH)
    table = Table(
        box=None if is_plain else box.SIMPLE_HEAD,
        caption=f"noise floor ({(TYPED if is_plain else DRAWN).floor}): {floor.distance:.3g}, "
        f"95 % of it below {floor.upper:.3g}",
        caption_justify="left",
        pad_edge=False,
    )
    table.add_column("rank", justify="right")
    table.add_column("pool", overflow="fold")
    table.add_column("images", justify="right")
    table.add_column(measure, justify="right", style="bold")
    table.add_column(f"95 % interval{' (log)' if scale.is_log else ''}", no_wrap=True)
    for column in ("p (Holm)", "P(best)", "ranks"):
        table.add_column(column, justify="right")
    for candidate in ranking.candidates:
        table.add_row(*_cells(candidate, measure, scale, floor.distance, is_plain))
    return table


def _cells(
    candidate: Candidate, measure: str, scale: Scale, floor: float, is_plain: bool
) -> Iterator[Text]:
    result = candidate.measures[measure]
    bar = scale.bar(result, floor, TYPED if is_plain else DRAWN)
    first, last = candidate.rank_interval
    yield Text(str(candidate.rank))
    yield Text(printable(candidate.name) + (" !" if candidate.warnings else ""))
    yield Text(f"{candidate.n_images:,}")
    yield Text(f"{result.distance:.3g}")
    yield Text(bar, style="green" if candidate.rank_interval[0] == 1 else "red")
    yield Text(f"{result.p_holm:.2g}", style="" if result.p_holm <= SIGNIFICANT else "green")
    yield Text(f"{candidate.p_best:.2f}")
    yield Text(str(first) if first == last else f"{first}-{last}")


def _warnings(ranking: Ranking) -> Iterator[str]:
    yield from ranking.warnings
    for candidate in ranking.candidates:
        for warning in candidate.warnings:
            yield f"{candidate.name}: {warning}"
