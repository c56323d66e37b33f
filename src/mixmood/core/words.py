"""Counts and names in sentences."""

from collections.abc import Sequence


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A count and what is counted, in the singular or the plural.

    >>> counted(1, "image"), counted(12_000, "image"), counted(2, "class", "classes")
    ('1 image', '12,000 images', '2 classes')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def either_form(count: int, one: str, many: str) -> str:
    """The words for one thing, or those for several.

    >>> either_form(1, "is", "are"), either_form(0, "is", "are")
    ('is', 'are')
    """
    return one if count == 1 else many


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["web"]), listed(["web", "clinic"]), listed(["web", "clinic", "lab"])
    ('web', 'web and clinic', 'web, clinic and lab')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
