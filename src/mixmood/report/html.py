"""Records as one self-contained page: no network, no foreign script, every name escaped."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from mixmood.core.extras import Extras
from mixmood.core.records import Ranking
from mixmood.report import numbers
from mixmood.report.coverage import coverage
from mixmood.report.histograms import BAR_WIDTH, histograms
from mixmood.report.marks import LABELLED
from mixmood.report.printable import printable
from mixmood.report.scatter import clouds
from mixmood.report.strips import nearest_by, rows

if TYPE_CHECKING:
    from jinja2 import Environment

N_TILES = 8
"""Images in a row of the gallery."""


def ranking_page(
    ranking: Ranking,
    extras: Extras | None = None,
    command: str | None = None,
    elapsed_s: float | None = None,
) -> str:
    """The page of a ranking, as HTML text.

    Args:
        ranking: The record.
        extras: Pictures, map and coverage; the page does without them if None.
        command: What was typed to get the ranking.
        elapsed_s: How long it took.
    """
    drawn = clouds(ranking, extras) if extras else []
    pictures = [[point.tile.uri for point in cloud.points] for cloud in drawn]
    return render(
        "ranking.html",
        ranking.to_json(),
        {
            "ranking": ranking,
            "extras": extras,
            "command": command,
            "elapsed_s": elapsed_s,
            "rows": rows(ranking),
            "nearest_by": nearest_by(ranking),
            "distributions": [histograms(ranking, measure) for measure in ranking.noise_floor],
            "bar_width": BAR_WIDTH,
            "clouds": drawn,
            "pictures_json": _inert_json(json.dumps(pictures)),
            "coverage": coverage(ranking, extras) if extras else None,
            "labelled_mark": LABELLED,
            "n_tiles": N_TILES,
            "warnings": _warnings(ranking, extras),
        },
    )


def render(template: str, record_json: str, context: Mapping[str, Any]) -> str:
    """A page from a template of this folder, with style, script and the record inside it."""
    style, script = _asset("page.css"), _asset("page.js")
    page = (
        _environment()
        .get_template(template)
        .render(
            **context,
            record_json=_inert_json(record_json),
            style=_trusted(style),
            script=_trusted(script),
            style_hash=_csp_hash(style),
            script_hash=_csp_hash(script),
        )
    )
    # A file name that is no UTF-8 arrives with lone surrogates, which no page can hold.
    return page.encode("utf-8", "replace").decode()


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("mixmood", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        name: getattr(numbers, name)
        for name in (
            *("number", "percent", "chance", "p_value", "count", "duration"),
            *("fixed", "signed"),
        )
    }
    environment.filters["printable"] = printable
    environment.globals["span"] = numbers.span
    return environment


def _asset(name: str) -> str:
    return files("mixmood.report").joinpath(name).read_text("utf-8")


def _trusted(text: str) -> str:
    """Text of this package, which goes into the page as it is."""
    from markupsafe import Markup

    return Markup(text)


def _inert_json(text: str) -> str:
    """JSON that can end neither its script element nor a line of script, whatever names it holds.

    Escaped inside JSON strings, where alone these characters occur: it is still the same JSON.
    """
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _trusted(text)


def _csp_hash(text: str) -> str:
    """The source expression that allows just this inline text, as browsers compute it."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _warnings(ranking: Ranking, extras: Extras | None) -> dict[str, list[str]]:
    """Every warning with the pools that it is about; with none for the ranking as a whole."""
    found: dict[str, list[str]] = {text: [] for text in ranking.warnings}
    for candidate in ranking.candidates:
        seen = extras.pools[candidate.name].warnings if extras else ()
        for text in (*candidate.warnings, *seen):
            found.setdefault(text, []).append(candidate.name)
    return found
