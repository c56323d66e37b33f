"""Counts and names in sentences, the nearest known name for a mistyped one, and dotted names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from mixmood.core.errors import OptionError


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A count and what is counted, in the singular or the plural.

    >>> counted(1, "image"), counted(12_000, "image"), counted(2, "class", "classes")
    ('1 image', '12,000 images', '2 classes')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def in_percent(share: float, interval: tuple[float, float] | None = None) -> str:
    """A share in percent, with its interval if there is one.

    >>> in_percent(0.333), in_percent(0.333, (0.17, 0.42))
    ('33 %', '33 % (17 to 42)')
    """
    ends = "" if interval is None else " ({:.0f} to {:.0f})".format(*(100 * x for x in interval))
    return f"{100 * share:.0f} %{ends}"


def either_form(count: int, one: str, many: str) -> str:
    """The words for one thing, or those for several.

    >>> either_form(1, "is", "are"), either_form(0, "is", "are")
    ('is', 'are')
    """
    return one if count == 1 else many


def listed(names: Sequence[str], word: str = "and") -> str:
    """Names in a sentence.

    >>> listed(["web"]), listed(["web", "clinic"], "or"), listed(["web", "clinic", "lab"])
    ('web', 'web or clinic', 'web, clinic and lab')
    """
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def first_names(names: Sequence[object], most: int = 5) -> str:
    """The first names in a sentence, and how many more there are.

    >>> first_names(["a", "b", "c", "d"], 2), first_names(["a", "b"])
    ('a, b and 2 more', 'a and b')
    """
    more = [f"{len(names) - most:,} more"] if len(names) > most else []
    return listed([*map(str, names[:most]), *more])


MOST_NAMES = 10_000  # entries of a folder that are compared with a wrong path


def near_path(path: Path) -> str:
    """A sentence with the path that was probably meant; empty if none is near."""
    missing = path  # its first part that does not exist
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


def check_name(kind: str, word: str, known: Iterable[str]) -> None:
    """Refuse a name of some kind that is not known; see `unknown_name`."""
    if word not in (names := list(known)):
        raise unknown_name(kind, word, names)


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
