"""Errors for names that do not exist, with the nearest name that does."""

from collections.abc import Iterable
from difflib import get_close_matches

from mixmood.core.errors import OptionError


def unknown_name(kind: str, word: str, known: Iterable[str]) -> OptionError:
    """The error for an unknown name of some kind, offering the nearest valid one.

    >>> str(unknown_name("measure", "cosin", ["cosine", "js"]))
    "Unknown measure 'cosin'. Did you mean 'cosine'? Known: cosine, js."
    """
    names = list(known)
    near = get_close_matches(word, names, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return OptionError(f"Unknown {kind} '{word}'.{hint} Known: {', '.join(names)}.")
