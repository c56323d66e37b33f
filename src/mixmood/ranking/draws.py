"""Which images go into which draw, the distances of the draws, and their p-values."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.core.errors import OptionError
from mixmood.core.text import counted
from mixmood.measures.batch import partition_distances
from mixmood.measures.histogram import Overflow
from mixmood.measures.registry import compare

MOST_EXACT = 50  # pairs without ties, up to which p-values of signed ranks are exact, as in SciPy


def why_too_small(
    sample_size: int, n_rows: int, n_copies: int = 0, problems: str = ""
) -> str | None:
    """Why a pool holds fewer images than a sample; None if it holds enough.

    Copies of labelled images are not among the rows. `problems` says why images cannot be read.
    """
    if n_rows >= sample_size:
        return None
    if n_rows == 0:
        why = f"none can be read ({problems})" if problems else "none can be read"
        why = "all that can be read are copies of labelled ones" if n_copies else why
        return f"of the images tried, {why}. Give another pool, or leave this one out."
    copies = counted(n_copies, "copy", "copies")
    besides = f" besides {copies} of labelled ones" if n_copies else ""
    smaller = f"Use a sample size of at most {n_rows}, or" if n_rows > 1 else "Give"
    return (
        f"it holds only {counted(n_rows, 'readable image')}{besides}, and the sample size is "
        f"{sample_size}. {smaller} a larger pool."
    )


def check_fits(sample_size: int, n_rows: int, name: str) -> None:
    """Refuse a pool that does not hold one sample."""
    if reason := why_too_small(sample_size, n_rows):
        raise OptionError(f"'{name}' cannot be compared: {reason}")


def subsets(n: int, size: int, count: int, rng: np.random.Generator) -> Rows:
    """`count` random subsets of `size` of n rows, shape (count, size).

    The rows, which must be in random order, are cut into subsets, then shuffled and cut again:
    every row is used about equally often, and with `size * count` rows each is used once.
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

    The two are disjoint, unless they `overlap` as those of the paper's authors: a row may then be
    its own nearest neighbour.
    """
    if overlap:
        return np.stack([[rng.permutation(n)[:size] for _ in range(2)] for _ in range(count)])
    return subsets(n, 2 * size, count, rng).reshape(count, 2, size)


@dataclass(frozen=True)
class DrawnDistances:
    """`inter`, shape (measures, pools, draws), and `intra`, shape (measures, draws)."""

    inter: Array
    intra: Array

    @property
    def signed(self) -> Array:
        """Inter minus intra, shape (measures, pools, draws)."""
        return np.asarray(self.inter - self.intra[:, None, :])


def drawn_distances(
    labelled: Array,
    pools: Sequence[Array],
    labelled_rows: Rows,
    pool_rows: Sequence[Rows],
    names: Sequence[str],
    overflow: Overflow = "count",
    jobs: int = 1,
) -> DrawnDistances:
    """Every measure over the same draws: labelled to each pool, and labelled to itself.

    All pools are compared with the same labelled sub-samples, so that the choice of these does
    not add to the differences between pools, and each sub-sample is binned once.

    Args:
        labelled: Labelled features, shape (n, d).
        pools: Features of each pool, shape (n_k, d).
        labelled_rows: Rows of the two labelled sub-samples of each draw, shape (draws, 2, size).
        pool_rows: For each pool, the rows of each draw, shape (draws, size).
        names: Names of the measures.
        overflow: How values are counted that lie outside the first sample's range.
        jobs: Threads.
    """

    def table(draw: int) -> Array:
        own, other = labelled[labelled_rows[draw]]
        others = [pool[rows[draw]] for pool, rows in zip(pools, pool_rows, strict=True)]
        return compare(own, [other, *others], names, overflow)

    with ThreadPoolExecutor(jobs) as threads:
        tables = np.stack(list(threads.map(table, range(len(labelled_rows)))), axis=-1)
    return DrawnDistances(inter=tables[:, 1:], intra=tables[:, 0])


def permutation_p(
    labelled: Array,
    pool: Array,
    names: Sequence[str],
    n_permutations: int,
    rng: np.random.Generator,
) -> Array:
    """How often a random partition is as far apart as the two samples, shape (measures,).

    (1 + number of random re-partitions of all rows whose distance is at least the observed one)
    / (1 + n_permutations). Uniform when both samples come from one distribution; its smallest
    value is 1 / (1 + n_permutations).
    """
    rows = np.concatenate([labelled, pool])
    is_first = np.zeros((1 + n_permutations, len(rows)), bool)
    is_first[:, : len(labelled)] = True
    is_first[1:] = rng.permuted(is_first[1:], axis=1)
    distances = partition_distances(rows, is_first, names)
    # A re-partition that only swaps equal rows may differ by rounding: count it as a tie.
    least = distances[:, :1] - 1e-6 * np.abs(distances[:, :1])
    n_as_far = (distances[:, 1:] >= least).sum(axis=1)
    return np.asarray((1 + n_as_far) / (1 + n_permutations))


def holm(p_values: Array) -> Array:
    """Holm's step-down correction for several tests, shape (n,).

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return corrected


def wilcoxon_p(inter: Array, intra: Array) -> float:
    """Two-sided paired signed-rank p-value; 1 when no pair differs.

    For up to MOST_EXACT pairs without ties it is computed here, from the probabilities of all sums
    of ranks. To import scipy.stats, which gives the same bytes, takes a third of the time of a
    small `rank` (1.4 s; 1.1 s without, measured beside other work).

    >>> wilcoxon_p(np.array([3.0, 5.0, 7.0]), np.array([1.0, 1.0, 1.0]))
    0.25
    """
    if np.array_equal(inter, intra):
        return 1.0
    apart = inter - intra
    n_pairs, sizes = len(apart), np.unique(np.abs(apart))
    is_plain = len(sizes) == n_pairs and sizes[0] > 0 and np.isfinite(sizes[-1])
    if not is_plain or n_pairs > MOST_EXACT:
        from scipy.stats import wilcoxon

        return float(wilcoxon(inter, intra).pvalue)
    rank_sum = int((np.searchsorted(sizes, apart[apart > 0]) + 1).sum())
    chances = np.ones(1)
    for rank in range(1, n_pairs + 1):
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    is_low = rank_sum <= (len(chances) - 1) / 2
    tail = chances[: rank_sum + 1].sum() if is_low else 1 - chances[:rank_sum].sum()
    return min(1.0, 2 * float(tail))
