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

    The first part of the path that does not exist is compared with what lies beside it.
    """
    there = path
    while not there.parent.exists() and there != there.parent:
        there = there.parent
    try:
        names = sorted(entry.name for entry in islice(there.parent.iterdir(), MOST_NAMES))
    except (OSError, ValueError):
        return ""
    by_small = {name.lower(): name for name in names}
    near = get_close_matches(there.name.lower(), by_small, n=1, cutoff=0.6)
    return f" Did you mean {there.with_name(by_small[near[0]])}?" if near else ""


def unknown_name(kind: str, word: str, known: Iterable[str]) -> OptionError:
    """The error for an unknown name of some kind, offering the nearest valid one.

    >>> str(unknown_name("measure", "cosin", ["cosine", "js"]))
    "Unknown measure 'cosin'. Did you mean 'cosine'? Known: cosine, js."
    """
    names = list(known)
    near = get_close_matches(word, names, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return OptionError(f"Unknown {kind} '{word}'.{hint} Known: {', '.join(names)}.")
