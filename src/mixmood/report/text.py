"""How numbers and names are written for readers: three digits, nothing unsafe to print."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def number(value: float) -> str:
    """A value with three significant digits and a real minus sign.

    >>> number(0.81234), number(17.42), number(1234.5), number(-0.5), number(0.0)
    ('0.812', '17.4', '1,234', '\u22120.5', '0')
    """
    size = abs(value)
    text = f"{size:,.0f}" if size >= 999.5 else f"{size:.3g}"
    if "e" in text:
        text = "0" if size < 1e-9 else f"{size:.6f}".rstrip("0").rstrip(".")
    return text if value >= 0 or text == "0" else f"\u2212{text}"


def fixed(value: float, digits: int = 3) -> str:
    """A value with a fixed number of decimals, so that numbers in a column can be compared.

    >>> fixed(0.8), fixed(-0.125, 2), fixed(-0.0001, 2)
    ('0.800', '\u22120.12', '0.00')
    """
    text = f"{abs(value):.{digits}f}"
    return f"\u2212{text}" if value < 0 and float(text) else text


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign.

    >>> signed(0.012), signed(-0.012), signed(0.0)
    ('+0.012', '\u22120.012', '0.000')
    """
    text = fixed(value, digits)
    return f"+{text}" if value > 0 and float(text) else text


def span(low: float, high: float) -> str:
    """An interval.

    >>> span(0.0, 2.4678), span(1, 1)
    ('0\u20132.47', '1')
    """
    return number(low) if low == high else f"{number(low)}\u2013{number(high)}"


def percent(share: float) -> str:
    """A share in percent; only exactly 0 and 1 are shown as 0 and 100 %.

    >>> percent(0.915), percent(0.9996), percent(1.0), percent(0.002), percent(0.0)
    ('92\u202f%', '>\u202f99\u202f%', '100\u202f%', '<\u202f1\u202f%', '0\u202f%')
    """
    if 0 < share < 0.005:
        return "<\u202f1\u202f%"
    if 0.995 <= share < 1:
        return ">\u202f99\u202f%"
    return f"{100 * share:.0f}\u202f%"


def chance(share: float) -> str:
    """A probability that is estimated by simulation, and so is never shown as 0 or 100 %.

    >>> chance(1.0), chance(0.915), chance(0.0)
    ('>\u202f99\u202f%', '92\u202f%', '<\u202f1\u202f%')
    """
    if share > 0.99:
        return ">\u202f99\u202f%"
    return "<\u202f1\u202f%" if share < 0.01 else percent(share)


def p_value(value: float) -> str:
    """A p-value with two digits.

    >>> p_value(0.0125), p_value(0.4275), p_value(0.00001)
    ('0.013', '0.43', '<\u202f0.001')
    """
    return "<\u202f0.001" if value < 0.001 else f"{value:.2g}"


count = "{:,}".format  # a whole number with commas between thousands


def duration(seconds: float) -> str:
    """A length of time in words.

    >>> duration(0.42), duration(14.25), duration(192.0), duration(45_300.0), duration(1e6)
    ('0.4 s', '14 s', '3 min 12 s', '12 h 35 min', '11.6 days')
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 2 * 24 * 60:
        return f"{minutes / (24 * 60):.1f} days"
    if minutes >= 120:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s"


def with_spread(mean: float, spread: float | None, form: Callable[[float], str] = fixed) -> str:
    """A mean and its standard deviation, if there is one.

    >>> with_spread(0.5, None), with_spread(0.5, 0.25)
    ('0.500', '0.500 ± 0.250')
    """
    return form(mean) if spread is None else f"{form(mean)} ± {form(spread)}"


def side_by_side(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows of a table as lines, its columns side by side.

    >>> side_by_side([["pool", "n"], ["web", "12"]])
    ['pool  n', 'web   12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def printable(text: str) -> str:
    """The text with control characters escaped, so that a file name cannot control a terminal.

    >>> printable("a" + chr(27) + "[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "".join(
        one.encode("unicode_escape").decode("ascii")
        if unicodedata.category(one) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
        else one
        for one in text
    )


def seen_at(view: Mapping[str, Any] | None) -> str:
    """The end of a paragraph about features of this view; empty for given features."""
    return f" Seen at {in_view(view)}." if view else ""


def in_view(view: Mapping[str, Any]) -> str:
    """The entry `view` of a record in words.

    >>> in_view({"resolution": 224, "depth": "both"})
    '224 px, both'
    """
    return f"{view['resolution']} px, {view['depth']}"
