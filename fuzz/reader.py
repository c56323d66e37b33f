"""A reader: the files that it is given, how they are damaged, and how it is called.

Reading returns a word for the outcome. It raises a MixmoodError for a file that it refuses; any
other exception is a finding.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.mutate import mutated

READ, UNREADABLE, WARNED, REFUSED = "read", "unreadable", "warned", "refused"
RESEALED = 0.5
"""Share of the inputs whose checksums are set right after the mutation."""


@dataclass(frozen=True)
class Seed:
    """A real file under its name, and what lies beside it."""

    name: str
    data: bytes
    beside: Mapping[str, bytes] = field(default_factory=dict)


Make = Callable[[random.Random, bytes, list[bytes]], bytes]


@dataclass(frozen=True)
class Reader:
    """A reader: its seeds, and how a folder with one of them, mutated, is read.

    `inside` mutates what is within a container and closes it again properly.
    """

    seeds: Callable[[], list[Seed]]
    read: Callable[[Path, str], str]
    inside: Make | None = None
    needs_torch: bool = False

    def make(self, rng: random.Random, given: list[Seed]) -> Seed:
        """One hostile input."""
        seed = rng.choice(given)
        others = [other.data for other in given]
        if self.inside is not None and rng.random() < RESEALED:
            return Seed(seed.name, self.inside(rng, seed.data, others), seed.beside)
        return Seed(seed.name, mutated(rng, seed.data, others), seed.beside)


def seeds_named(name: str, made: Callable[[], list[bytes]]) -> Callable[[], list[Seed]]:
    """Seeds of one name, made when they are asked for."""
    return lambda: [Seed(name, data) for data in made()]
