"""The page of a ranking, drawn from its record."""

import json

from mixmood.core.records.page_material import PageMaterial
from mixmood.core.records.ranking import Ranking
from mixmood.report.charts.coverage import coverage
from mixmood.report.charts.gains import gains
from mixmood.report.charts.histograms import BAR_WIDTH, histograms
from mixmood.report.charts.marks import LABELLED
from mixmood.report.charts.scatter import clouds
from mixmood.report.charts.strips import nearest_by, rows
from mixmood.report.page.render import inert_json, render

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
