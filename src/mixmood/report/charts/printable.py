"""Names from the outside, made safe to print."""

import unicodedata


def printable(text: str) -> str:
    """The text with every control character shown as its code: a file name cannot drive a terminal.

    >>> printable("a" + chr(27) + "[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}:
        return character.encode("unicode_escape").decode("ascii")
    return character
