"""How a page is made: one self-contained file, without network access, every name escaped."""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from mixmood.report import text

if TYPE_CHECKING:
    from jinja2 import Environment

TITLES = {
    "name": "Backbone",
    "weights_sha256": "Weights (SHA-256)",
    "width": "Features of an image",
    "input": "Input of the network",
}
"""Titles of a backbone's facts; those of other keys are the keys themselves."""
UINT8 = "uint8 values from 0 to 255"
LAYOUTS = {"nhwc": "channels last (NHWC)", "nchw": "channels first (NCHW)"}


def render(path: str, record_json: str, context: Mapping[str, Any], own: str | None = None) -> str:
    """A page from a template below `templates`, with style, script and the record inside it.

    `own` names a script that replaces the common one, and a style that is added to it.
    """
    style = _asset("page.css") + (_asset(f"{own}.css") if own else "")
    script = _asset(f"{own or 'page'}.js")
    template = _environment().get_template(path)
    page = template.render(
        **context,
        record_json=inert_json(record_json),
        style=_trusted(style),
        script=_trusted(script),
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
    )
    # A file name that is not UTF-8 has lone surrogates, which cannot be written as UTF-8.
    return page.encode("utf-8", "replace").decode()


def fragment(
    title: str, rows: Sequence[Sequence[str]], notes: Sequence[str] = (), heads: Sequence[str] = ()
) -> str:
    """A small table with a title and notes, for notebooks; everything is escaped."""
    template = _environment().get_template("page/fragment.html")
    return template.render(title=title, rows=rows, notes=notes, heads=heads)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("mixmood", "report/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    plain: list[Callable[..., str]]
    plain = [text.number, text.percent, text.chance, text.p_value, text.duration, text.fixed]
    plain += [text.signed, text.in_view, text.printable]
    environment.filters |= {own.__name__: own for own in plain} | {"count": text.count}
    environment.filters |= {"in_words": in_words, "backbone_facts": backbone_facts}
    environment.globals["span"] = text.span
    return environment


def _asset(name: str) -> str:
    return files("mixmood.report").joinpath("templates", "page", name).read_text("utf-8")


def _trusted(part: str) -> str:
    """Text of this package, which is put into the page unescaped."""
    from markupsafe import Markup

    return Markup(part)


def inert_json(json_text: str) -> str:
    """JSON that is safe inside a script element, whatever names it holds.

    What could end the element or a line of script is escaped; it occurs in JSON strings only.
    """
    for character in "<>&\u2028\u2029":
        json_text = json_text.replace(character, f"\\u{ord(character):04x}")
    return _trusted(json_text)


def _csp_hash(part: str) -> str:
    """The source expression of a content security policy that allows this inline text only."""
    return f"'sha256-{b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"


def in_words(value: object) -> str:
    """A value without the brackets and quotes of Python.

    >>> in_words({"epochs": 2, "settings": {"mixmatch": {"gamma": 10}}}), in_words([60, 100])
    ('epochs 2; settings (mixmatch (gamma 10))', '60, 100')
    """

    def inner(part: object) -> str:
        return f"({in_words(part)})" if isinstance(part, Mapping) else in_words(part)

    if isinstance(value, Mapping):
        return "; ".join(f"{_key_words(key)} {inner(part)}" for key, part in value.items())
    return ", ".join(map(inner, value)) if isinstance(value, list | tuple) else str(value)


def _key_words(key: object) -> str:
    return str(key).replace("_", " ")


def backbone_facts(backbone: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Title and words of everything that a record says about its backbone.

    >>> backbone_facts({"name": "net.onnx", "resolution": 96})
    [('Backbone', 'net.onnx'), ('Resolution', '96 pixels a side')]
    """
    words = {key: in_words(value) for key, value in backbone.items()}
    if "resolution" in words:
        words["resolution"] += " pixels a side"
    if isinstance(known := backbone.get("input"), Mapping):
        # A record of uint8 has the layout only.
        layout, dtype = str(known.get("layout", "")), known.get("dtype", "float")
        values = f"{dtype} values from 0 to {known['range']:g}" if "range" in known else UINT8
        titles = {"mean": "mean", "std": "standard deviation"}
        scaled = [f"{titles[key]} {in_words(known[key])}" for key in titles if key in known]
        words["input"] = "; ".join([LAYOUTS.get(layout, layout), values, *scaled])
    return [(TITLES.get(key, _key_words(key).capitalize()), told) for key, told in words.items()]
