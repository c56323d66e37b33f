"""Values of a record in words, for the list of facts at the end of a page."""

from collections.abc import Mapping
from typing import Any

TITLES = {
    "name": "Backbone",
    "weights_sha256": "Weights (SHA-256)",
    "width": "Features of an image",
    "input": "Input of the network",
}
"""Titles of a backbone's facts; those of other keys are the keys themselves."""
LAYOUTS = {"nhwc": "channels last (NHWC)", "nchw": "channels first (NCHW)"}


def in_words(value: object) -> str:
    """A value without the brackets and quotes of Python.

    >>> in_words({"epochs": 2, "settings": {"mixmatch": {"gamma": 10}}}), in_words([60, 100])
    ('epochs 2; settings (mixmatch (gamma 10))', '60, 100')
    """
    if isinstance(value, Mapping):
        return "; ".join(f"{_key_words(key)} {_inner(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_inner, value))
    return str(value)


def backbone_facts(backbone: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Title and words of everything that a record says about its backbone.

    >>> backbone_facts({"name": "net.onnx", "resolution": 96})
    [('Backbone', 'net.onnx'), ('Resolution', '96 pixels a side')]
    """
    return [
        (TITLES.get(key, _key_words(key).capitalize()), _backbone_words(key, value))
        for key, value in backbone.items()
    ]


def _backbone_words(key: str, value: Any) -> str:
    if key == "resolution":
        return f"{value} pixels a side"
    if key == "input" and isinstance(value, Mapping):
        return _input_words(value)
    return in_words(value)


def _input_words(known: Mapping[str, Any]) -> str:
    """What is done with pixels before the network; a record of uint8 has the layout only."""
    layout = str(known.get("layout", ""))
    words = [LAYOUTS.get(layout, layout)]
    if "range" in known:
        words.append(f"{known.get('dtype', 'float')} values from 0 to {known['range']:g}")
    else:
        words.append("uint8 values from 0 to 255")
    for key, title in (("mean", "mean"), ("std", "standard deviation")):
        if key in known:
            words.append(f"{title} {in_words(known[key])}")
    return "; ".join(words)


def _inner(value: object) -> str:
    return f"({in_words(value)})" if isinstance(value, Mapping) else in_words(value)


def _key_words(key: object) -> str:
    return str(key).replace("_", " ")
