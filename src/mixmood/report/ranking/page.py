"""A ranking as HTML: its page, and the small table of a notebook."""

import json
from html import escape

from mixmood.core.records.ranking import Candidate, PageMaterial, Ranking
from mixmood.report.charts import LABELLED
from mixmood.report.page import inert_json, render
from mixmood.report.ranking.charts import (
    BAR_WIDTH,
    clouds,
    coverage,
    gains,
    histograms,
    nearest_by,
    rows,
)
from mixmood.report.ranking.text import warning_lines
from mixmood.report.text import chance, number, p_value, printable, signed, span

N_TILES = 8
"""Images in a row of the gallery."""


def ranking_page(
    ranking: Ranking,
    material: PageMaterial | None = None,
    command: str | None = None,
    elapsed_s: float | None = None,
) -> str:
    """The page of a ranking, as HTML text.

    Args:
        ranking: The record.
        material: Pictures and map; the page has neither if None.
        command: The command that made the ranking.
        elapsed_s: How long the ranking took.
    """
    drawn = clouds(ranking, material) if material else []
    pictures = [[point.tile.uri for point in cloud.points] for cloud in drawn]
    return render(
        "ranking/ranking.html",
        ranking.to_json(),
        {
            "ranking": ranking,
            "material": material,
            "command": command,
            "elapsed_s": elapsed_s,
            "rows": rows(ranking),
            "nearest_by": nearest_by(ranking),
            "distributions": [histograms(ranking, measure) for measure in ranking.noise_floor],
            "bar_width": BAR_WIDTH,
            "clouds": drawn,
            "pictures_json": inert_json(json.dumps(pictures)),
            "coverage": coverage(ranking),
            "gains": gains(ranking),
            "labelled_mark": LABELLED,
            "n_tiles": N_TILES,
            "warnings": _warnings(ranking, material),
        },
    )


def _warnings(ranking: Ranking, material: PageMaterial | None) -> dict[str, list[str]]:
    """Every warning with the names of its pools; no names if it is about the whole ranking."""
    found: dict[str, list[str]] = {text: [] for text in ranking.warnings}
    for candidate in ranking.candidates:
        seen = material.pools[candidate.name].warnings if material else ()
        for text in (*candidate.warnings, *seen):
            found.setdefault(text, []).append(candidate.name)
    return found


HEADINGS = (
    "rank",
    "pool",
    "images",
    "distance",
    "95 % interval",
    "p (Holm)",
    "P(best)",
    "ranks",
    "gain",
    "advice",
)


def ranking_html(ranking: Ranking) -> str:
    """The verdict and the table of the measure that ranks, as a fragment of HTML."""
    heads = "".join(f"<th>{escape(head)}</th>" for head in HEADINGS)
    rows = "".join(_row(candidate, ranking.measure) for candidate in ranking.candidates)
    sentence = [ranking.recommendation.sentence] if ranking.recommendation else []
    warnings = warning_lines(ranking, "to_json() or to_html(FILE)")
    lines = [*sentence, *ranking.notes, *(f"! {text}" for text in warnings)]
    lines += [f"! set aside, {one.name}: {one.reason}" for one in ranking.set_aside]
    notes = "".join(f"<li>{_safe(line)}</li>" for line in lines)
    return (
        f"<div><p><b>{_safe(ranking.verdict)}</b> <small>({_safe(ranking.measure)})</small></p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        + (f"<ul>{notes}</ul>" if notes else "")
        + "</div>"
    )


def _row(candidate: Candidate, measure: str) -> str:
    result = candidate.measures[measure]
    cells = (
        candidate.rank,
        candidate.name,
        f"{candidate.n_images:,}",
        number(result.distance),
        span(*result.interval),
        p_value(result.p_holm),
        chance(candidate.p_best),
        span(*candidate.rank_interval),
        "-" if candidate.probe is None else signed(candidate.probe.gain, 1),
        candidate.advice or "-",
    )
    return "<tr>" + "".join(f"<td>{_safe(str(cell))}</td>" for cell in cells) + "</tr>"


def _safe(text: str) -> str:
    return escape(printable(text))
