"""A ranking as HTML: the page with its charts, and the table of a notebook; and as a figure."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mixmood.core.records.ranking import Candidate, PageMaterial, Ranking, Tile
from mixmood.report.charts import LABELLED, Axis, Mark, bars, mark
from mixmood.report.page import fragment, inert_json, render
from mixmood.report.ranking.text import answer_cells, by_advice, side_lines, table_cells
from mixmood.report.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_TILES = 8  # images in a row of the gallery
N_BINS = 48


def ranking_page(
    ranking: Ranking,
    material: PageMaterial | None = None,
    command: str | None = None,
    elapsed_s: float | None = None,
) -> str:
    """The page of a ranking, as HTML text; without material it has no pictures and no map."""
    drawn = _clouds(ranking, material) if material else []
    pictures = [[point["tile"].uri for point in cloud["points"]] for cloud in drawn]
    rows, axes = marked(ranking), {}
    nearest_by: dict[str, list[str]] = {}  # the measures by which a pool is nearest
    for measure, floor in ranking.noise_floor.items():
        found = [row.candidate.measures[measure] for row in rows]
        ends = [*(result.interval[1] for result in found), floor.upper]
        axes[measure] = Axis.of_distances([result.distance for result in found], ends)
        nearest_by.setdefault(ranking.ordered_by(measure)[0].name, []).append(measure)
    # Every warning with the names of its pools; no names if it is about the whole ranking.
    warnings: dict[str, list[str]] = {text: [] for text in ranking.warnings}
    for candidate in ranking.candidates:
        seen = material.pools[candidate.name].warnings if material else ()
        for text in (*candidate.warnings, *seen):
            warnings.setdefault(text, []).append(candidate.name)
    return render(
        "ranking/ranking.html",
        ranking.to_json(),
        {
            "ranking": ranking,
            "material": material,
            "command": command,
            "elapsed_s": elapsed_s,
            "rows": rows,
            "by_distance": sorted(rows, key=lambda row: row[0].measures[ranking.measure].rank),
            "axes": axes,
            "nearest_by": nearest_by,
            "distributions": [_histograms(ranking, measure) for measure in axes],
            "bar_width": round(100 / N_BINS, 2),
            "clouds": drawn,
            "pictures_json": inert_json(json.dumps(pictures)),
            "coverage": coverage(ranking),
            "gains": gains(ranking),
            "labelled_mark": LABELLED,
            "n_tiles": N_TILES,
            "warnings": warnings,
        },
    )


def ranking_html(ranking: Ranking) -> str:
    """The verdict and the table of the measure that ranks, as a fragment of HTML."""
    is_by_gain = ranking.by == "gain"
    cells = answer_cells(ranking) if is_by_gain else table_cells(ranking, ranking.measure)
    next_command = [f"Next: {ranking.next}"] if ranking.next else []
    return fragment(
        ranking.answer if is_by_gain else ranking.verdict,
        list(zip(*([cell.plain for cell in column] for column in cells.values()), strict=True)),
        [*next_command, *ranking.notes, *side_lines(ranking, "to_json() or to_html(FILE)")],
        list(cells),
    )


def plot_ranking(ranking: Ranking, axes: "Axes | None" = None) -> "Axes":
    """Gains, or distances in a ranking by distance, with their intervals; the best pool on top."""
    from matplotlib.figure import Figure

    is_by_gain = ranking.by == "gain"
    if is_by_gain:
        pools = sorted(ranking.candidates, key=by_advice)
        found = [(p.name, p.probe.gain, p.probe.interval) for p in pools if p.probe]
    else:
        ordered = ranking.ordered_by(ranking.measure)
        ends = [pool.measures[ranking.measure].interval for pool in ordered]
        found = [(p.name, p.distance, own) for p, own in zip(ordered, ends, strict=True)]
    if axes is None:
        height = 1.2 + 0.4 * len(found)
        axes = Figure(figsize=(6.4, height), layout="constrained").add_subplot()
    places = range(len(found))
    lows, highs = zip(*(interval for _, _, interval in found), strict=True)
    axes.hlines(places, lows, highs, color="0.6")
    axes.plot([value for _, value, _ in found], places, "o", color="C0")
    axes.axvline(0.0 if is_by_gain else ranking.noise_floor[ranking.measure].upper, color="0.8")
    axes.set_yticks(places, [printable(name) for name, _, _ in found])
    axes.invert_yaxis()
    axes.set_xlabel("expected gain in points" if is_by_gain else f"distance ({ranking.measure})")
    return axes


class MarkedPool(NamedTuple):
    """A pool and its mark, which is the same in all charts."""

    candidate: Candidate
    mark: Mark


def marked(ranking: Ranking) -> list[MarkedPool]:
    """The pools in order of rank."""
    return [MarkedPool(candidate, mark(k)) for k, candidate in enumerate(ranking.candidates)]


def gains(ranking: Ranking) -> dict[str, Any] | None:
    """All pools that were probed in the order of their advice, on an axis with 0; None if none."""
    rows = [row for row in marked(ranking) if row.candidate.probe]
    rows.sort(key=lambda row: by_advice(row.candidate))
    ends = [end for row in rows if row.candidate.probe for end in row.candidate.probe.interval]
    return {"rows": rows, "axis": Axis.of_values([0.0, *ends])} if rows else None


def _histograms(ranking: Ranking, measure: str) -> dict[str, Any]:
    """The histograms of all pools; they share one axis and one height, so that they compare."""
    results = [candidate.measures[measure] for candidate in ranking.candidates]
    axis = Axis.of_values([value for r in results for value in (*r.inter, *r.intra)])

    def counts(values: Sequence[float]) -> list[int]:
        found = Counter(min(int(axis.at(v) / 100 * N_BINS), N_BINS - 1) for v in values)
        return [found[k] for k in range(N_BINS)]

    halves = [(counts(r.inter), counts(r.intra)) for r in results]
    most = max(max(half) for both in halves for half in both)
    pairs = [
        row._asdict() | {"result": result, "inter": bars(inter, most), "intra": bars(intra, most)}
        for row, result, (inter, intra) in zip(marked(ranking), results, halves, strict=True)
    ]
    return {"measure": measure, "axis": axis, "pairs": pairs}


ASPECT = 1.6  # width divided by height, as in page.css
MARGIN = 4.0


def _clouds(ranking: Ranking, material: PageMaterial) -> list[dict[str, Any]]:
    """The points of all sets in percent, on axes of one scale; the best set is drawn on top."""
    sets = [(ranking.labelled.name, LABELLED, material.labelled)]
    sets += [(pool.name, own, material.pools[pool.name]) for pool, own in marked(ranking)]
    xs, ys = zip(*(point for _, _, view in sets for point in view.points), strict=True)
    middle_x, middle_y = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
    unit = (100 - 2 * MARGIN) / (max((max(xs) - min(xs)) / ASPECT, max(ys) - min(ys)) or 1.0)

    def point(x: float, y: float, tile: Tile) -> dict[str, Any]:
        across, down = 50 + (x - middle_x) * unit / ASPECT, 50 - (y - middle_y) * unit
        return {"x": round(across, 2), "y": round(down, 2), "tile": tile}

    clouds = []
    for name, own, view in reversed(sets):
        points = [point(*at, tile) for at, tile in zip(view.points, view.tiles, strict=True)]
        clouds.append({"name": name, "mark": own, "points": points})
    return clouds


MISSED = 0.2  # a pool misses a class with less than this part of its share in the labelled set


def coverage(ranking: Ranking) -> dict[str, Any] | None:
    """A table of classes and sets, the longer of the two in the rows; None without classes."""
    counts = ranking.labelled.classes
    if not counts or len(counts) < 2 or any(c.classes is None for c in ranking.candidates):
        return None
    expected = {name: count / sum(counts.values()) for name, count in counts.items()}
    sets = [(ranking.labelled.name, LABELLED, expected)]
    sets += [(pool.name, own, pool.classes or {}) for pool, own in marked(ranking)]
    longest = max(max(shares.values()) for _, _, shares in sets)

    def cell(share: float, usual: float, own: Mark) -> dict[str, Any]:
        """A class in a set: its share, and places on its bar in percent."""
        return {
            "share": share,
            "bar": round(100 * share / longest, 1),
            "expected_at": None if own == LABELLED else round(100 * usual / longest, 1),
            "is_missed": share < MISSED * usual,
            "mark": own,
        }

    cells = [
        [cell(shares.get(name, 0.0), usual, own) for name, usual in expected.items()]
        for _, own, shares in sets
    ]
    missed = []
    for (name, _, _), row in zip(sets, cells, strict=True):
        if lost := [word for word, one in zip(expected, row, strict=True) if one["is_missed"]]:
            missed.append((name, lost))
    row_heads: list[tuple[str, Mark | None]] = [(name, own) for name, own, _ in sets]
    heads: list[tuple[str, Mark | None]] = [(name, None) for name in expected]
    has_sets_as_rows = len(sets) > len(expected)
    if not has_sets_as_rows:
        row_heads, heads = heads, row_heads
        cells = [list(column) for column in zip(*cells, strict=True)]
    rows = [(*head, row) for head, row in zip(row_heads, cells, strict=True)]
    return {"heads": heads, "rows": rows, "has_sets_as_rows": has_sets_as_rows, "missed": missed}
