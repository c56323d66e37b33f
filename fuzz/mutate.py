"""Random changes to the bytes of a file."""

import random
from collections.abc import Callable, Sequence

MOST_EDITS = 6
LONGEST_PIECE = 64
TOKENS = (
    b"\0", b"\n", b"\r", b'"', b"'", b",", b"=", b"../", b"/", b"[", b"]" * 9, b"{" * 9, b"}",
    b"nan", b"-1", b"1e999", b"null", b"true", b"\x1b[2J", b"\xff\xfe", b"9" * 30, b"(", b"%s",
    b"#",
)  # fmt: skip
"""Texts on which parsers often fail."""

Edit = Callable[[random.Random, bytearray, Sequence[bytes]], None]


def mutated(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The data after one or a few random edits; `others` are files of the kind to splice from."""
    result = bytearray(data)
    for _ in range(1 + int(rng.expovariate(0.7)) % MOST_EDITS):
        rng.choice(EDITS)(rng, result, others)
    return bytes(result)


def _place(rng: random.Random, data: bytearray) -> int:
    """A random place, often near the start or the end, where formats have their tables."""
    n_bytes = len(data)
    where = rng.random()
    if where < 0.3:
        return rng.randrange(min(n_bytes, 128) + 1)
    if where < 0.5:
        return n_bytes - rng.randrange(min(n_bytes, 128) + 1)
    return rng.randrange(n_bytes + 1)


def _flip(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = _place(rng, data)
    data[at : at + 1] = bytes(byte ^ (1 << rng.randrange(8)) for byte in data[at : at + 1])


def _set(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = _place(rng, data)
    data[at : at + 1] = bytes([rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])])


def _number(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    """A whole number of two, four or eight bytes, near a power of two."""
    size = rng.choice([2, 4, 8])
    value = (2 ** rng.randrange(8 * size + 1) + rng.choice([-1, 0, 1])) % 2 ** (8 * size)
    at = _place(rng, data)
    data[at : at + size] = value.to_bytes(size, rng.choice(["big", "little"]))


def _digits(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Another number in place of one written in digits, if there is one near."""
    at = _place(rng, data)
    while at < len(data) and not chr(data[at]).isdigit():
        at += 1
    end = at
    while end < len(data) and chr(data[end]).isdigit():
        end += 1
    text = rng.choice(["0", "-1", "1e400", "nan", "1.5", "true", str(10 ** rng.randrange(25))])
    data[at:end] = text.encode()


def _cut(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    del data[_place(rng, data) :]


def _drop(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = _place(rng, data)
    del data[at : at + rng.randrange(1, LONGEST_PIECE)]


def _repeat(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = _place(rng, data)
    piece = data[at : at + rng.randrange(1, LONGEST_PIECE)]
    data[at:at] = piece * rng.choice([1, 2, 50])


def _insert(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = _place(rng, data)
    data[at:at] = rng.choice(TOKENS) if rng.random() < 0.5 else rng.randbytes(rng.randrange(1, 16))


def _blank(rng: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    at = _place(rng, data)
    piece = data[at : at + rng.randrange(1, LONGEST_PIECE)]
    data[at : at + len(piece)] = rng.choice([b"\0", b"\xff", b" "]) * len(piece)


def _splice(rng: random.Random, data: bytearray, others: Sequence[bytes]) -> None:
    other = rng.choice(others)
    start = rng.randrange(len(other) + 1)
    at = _place(rng, data)
    n_bytes = rng.randrange(1, 4 * LONGEST_PIECE)
    data[at : at + n_bytes] = other[start : start + n_bytes]


EDITS: Sequence[Edit] = (
    _flip, _flip, _set, _set, _number, _number, _digits, _cut, _drop, _repeat, _insert, _blank,
    _splice,
)  # fmt: skip
