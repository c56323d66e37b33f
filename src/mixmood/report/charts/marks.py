"""The mark of a set: a colour and a shape, the same on the whole page."""

from dataclasses import dataclass

N_COLOURS = 7
N_SHAPES = 5


@dataclass(frozen=True)
class Mark:
    """Names of a colour class (Okabe and Ito's palette, in page.css) and of a shape."""

    colour: str
    shape: str


LABELLED = Mark("k-labelled", "shape-labelled")


def mark(place: int) -> Mark:
    """The mark of the pool in this place, 0 first; 35 pools have marks of their own."""
    return Mark(f"k{place % N_COLOURS}", f"shape{place % N_SHAPES}")
