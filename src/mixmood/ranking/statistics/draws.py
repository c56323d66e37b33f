"""Which rows go into which draw."""

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.errors import OptionError
from mixmood.core.words import counted


def why_too_small(
    sample_size: int, n_rows: int, n_copies: int = 0, problems: str = ""
) -> str | None:
    """Why a pool holds fewer images than a sample; None if it holds enough.

    `n_copies` copies of labelled images are not among the rows. `problems` says why images could
    not be read, where that is known.
    """
    if n_rows >= sample_size:
        return None
    if n_rows == 0:
        unreadable = f"none can be read ({problems})" if problems else "none can be read"
        why = "all that can be read are copies of labelled ones" if n_copies else unreadable
        return f"of the images tried, {why}. Give another pool, or leave this one out."
    copies = counted(n_copies, "copy", "copies")
    besides = f" besides {copies} of labelled ones" if n_copies else ""
    return (
        f"it holds only {counted(n_rows, 'readable image')}{besides}, and the sample size is "
        f"{sample_size}. Use a sample size of at most {n_rows}, or a larger pool."
    )


def check_fits(sample_size: int, n_rows: int, name: str) -> None:
    """Refuse a pool that does not hold one sample."""
    reason = why_too_small(sample_size, n_rows)
    if reason:
        raise OptionError(f"'{name}' cannot be compared: {reason}")


def subsets(n: int, size: int, count: int, rng: np.random.Generator) -> Rows:
    """`count` random subsets of `size` of n rows, shape (count, size).

    The rows are cut into subsets in order, then shuffled and cut again: every row is used about
    equally often, and with `size * count` rows each is used once. The rows must come in random
    order, as the rows of a `Reading` do.
    """
    order = np.arange(n)
    cuts: list[Rows] = []
    while len(cuts) < count:
        cuts.extend(order[: n - n % size].reshape(-1, size))
        order = rng.permutation(n)
    return np.stack(cuts[:count])


def labelled_pairs(
    n: int, size: int, count: int, rng: np.random.Generator, overlap: bool = False
) -> Rows:
    """Pairs of subsets of the labelled rows, shape (count, 2, size).

    The two are disjoint, unless `overlap` asks for independent ones as the paper's authors drew
    them: a row may then be its own nearest neighbour.
    """
    if overlap:
        return np.stack([[rng.permutation(n)[:size] for _ in range(2)] for _ in range(count)])
    return subsets(n, 2 * size, count, rng).reshape(count, 2, size)
