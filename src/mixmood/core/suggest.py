"""Errors for names that do not exist, with the nearest name that does."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from mixmood.core.errors import OptionError

MOST_NAMES = 10_000
"""Entries of a folder that are compared with a wrong path."""


def near_path(path: Path) -> str:
    """A sentence with the path that was probably meant; empty if none is near.

    The first part of the path that does not exist is compared with the names in its folder.
    """
    missing = path
    while not missing.parent.exists() and missing != missing.parent:
        missing = missing.parent
    try:
        names = sorted(entry.name for entry in islice(missing.parent.iterdir(), MOST_NAMES))
    except (OSError, ValueError):
        return ""
    by_lower_case = {name.lower(): name for name in names}
    near = get_close_matches(missing.name.lower(), by_lower_case, n=1, cutoff=0.6)
    return f" Did you mean {missing.with_name(by_lower_case[near[0]])}?" if near else ""


def unknown_name(kind: str, word: str, known: Iterable[str]) -> OptionError:
    """The error for an unknown name of some kind, offering the nearest valid one.

    >>> str(unknown_name("measure", "cosin", ["cosine", "js"]))
    "Unknown measure 'cosin'. Did you mean 'cosine'? Known: cosine, js."
    """
    names = list(known)
    near = get_close_matches(word, names, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return OptionError(f"Unknown {kind} '{word}'.{hint} Known: {', '.join(names)}.")
