"""One self-contained page: no network, no foreign script, every name escaped."""

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from mixmood.report.charts import numbers
from mixmood.report.charts.printable import printable

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, record_json: str, context: Mapping[str, Any]) -> str:
    """A page from a template, with style, script and the record inside it.

    `template` is a path below `report`, such as "ranking/ranking.html".
    """
    style, script = _asset("page.css"), _asset("page.js")
    page = (
        _environment()
        .get_template(template)
        .render(
            **context,
            record_json=inert_json(record_json),
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
    return files("mixmood.report.page").joinpath(name).read_text("utf-8")


def _trusted(text: str) -> str:
    """Text of this package, which is put into the page unescaped."""
    from markupsafe import Markup

    return Markup(text)


def inert_json(text: str) -> str:
    """JSON that can end neither its script element nor a line of script, whatever names it holds.

    Escaped inside JSON strings, where alone these characters occur: it is still the same JSON.
    """
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _trusted(text)


def _csp_hash(text: str) -> str:
    """The source expression that allows just this inline text, as browsers compute it."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
