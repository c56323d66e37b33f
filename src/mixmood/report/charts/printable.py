"""Names from files and users, made safe to print."""

import unicodedata


def printable(text: str) -> str:
    """The text with control characters escaped, so that a file name cannot control a terminal.

    >>> printable("a" + chr(27) + "[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}:
        return character.encode("unicode_escape").decode("ascii")
    return character
