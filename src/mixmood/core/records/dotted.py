"""Nested values under dotted names, such as `settings.gamma`."""

from collections.abc import Iterator, Mapping
from typing import Any


def dotted(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each value that is not a mapping, under its own name after those of its mappings.

    >>> dict(dotted({"seed": 0, "settings": {"gamma": 25.0}}))
    {'seed': 0, 'settings.gamma': 25.0}
    """
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from dotted(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
