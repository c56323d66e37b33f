"""One self-contained page: no network access, no external script, every name escaped."""

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from mixmood.report.charts import numbers
from mixmood.report.charts.printable import printable
from mixmood.report.page.facts import backbone_facts, in_words

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
    # A file name that is not UTF-8 has lone surrogates, which cannot be written as UTF-8.
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
    environment.filters |= {
        "printable": printable,
        "in_words": in_words,
        "backbone_facts": backbone_facts,
    }
    environment.globals["span"] = numbers.span
    return environment


def _asset(name: str) -> str:
    return files("mixmood.report.page").joinpath(name).read_text("utf-8")


def _trusted(text: str) -> str:
    """Text of this package, which is put into the page unescaped."""
    from markupsafe import Markup

    return Markup(text)


def inert_json(text: str) -> str:
    """JSON that is safe inside a script element, whatever names it holds.

    The characters that could end the element or a line of script are escaped. They occur in JSON
    strings only, so that the JSON still means the same.
    """
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _trusted(text)


def _csp_hash(text: str) -> str:
    """The source expression of a content security policy that allows this inline text only."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
