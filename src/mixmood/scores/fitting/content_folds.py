"""Folds of labelled and pool images; the fold of a pool image follows from its features.

A row of the pool that was used for fitting must be scored by a model that was fitted without it.
The fold of such a row is a hash of its features: when the row is scored later, the model that was
fitted without that fold is used. No list of folds is stored.
"""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes

N_BITS = 64
FEWEST_FOLDS, MOST_FOLDS = 5, 10
MOST_GROUPS = 8
"""The largest number of groups of similar images that replace classes if there are no labels."""
GROUP_SIZE = 20
"""The mean size of these groups. Small groups are a product of chance. With them, a labelled image
that is left out always has similar labelled images in the other folds; useful pool images do not,
so that they seem foreign. On development tasks without classes, 40 labelled images and a half
foreign pool, the mean error of the share is 0.09 with groups of 5, 0.065 with 10, 0.047 with 20
and 0.07 with a single group."""
MOST_TO_GROUP = 1000
"""With more labelled images there are no groups: random folds have nearly equal parts of each
class."""
_ODD = np.uint64(0x9E3779B97F4A7C15)


def row_positions(rows: Array) -> NDArray[np.float64]:
    """A number in [0, 1) for each row, uniformly distributed, that depends on the row alone.

    It is a hash of 64 comparisons between pairs of features. Scaling a row does not change it.
    """
    rng = np.random.default_rng([N_BITS, rows.shape[1]])
    left, right = rng.integers(rows.shape[1], size=(2, N_BITS))
    # With few features a pair occurs again: another factor makes it another comparison.
    factors = rng.uniform(0.5, 2.0, N_BITS) * rng.choice([-1.0, 1.0], N_BITS)
    is_larger = rows[:, left] > factors * rows[:, right]
    words = np.ascontiguousarray(np.packbits(is_larger, axis=1)).view("<u8")[:, 0]
    for shift in (31, 29, 32):
        words = (words ^ (words >> np.uint64(shift))) * _ODD
    return np.asarray((words >> np.uint64(11)) / 2.0**53)


def pool_folds(rows: Array, n_folds: int) -> NDArray[np.int64]:
    """The fold of each row of a pool, shape (n,)."""
    return (row_positions(rows) * n_folds).astype(np.int64)


def folds_by_content(rows: Array, labels: Codes | None) -> NDArray[np.int64]:
    """The fold of each labelled row, 0 and up, every class spread evenly over the folds.

    A labelled set is often drawn with equal classes. If a fold had most images of a class, the
    class would be rare in the other folds, and its images, scored by the model of these, would
    seem foreign: the AUC of wholly useful pools, mean of four development pairs and four seeds, is
    0.45 without this and 0.49 with it. Without labels, groups of similar images replace classes.
    """
    codes = _groups(rows) if labels is None else np.unique(labels, return_inverse=True)[1]
    folds = np.empty(len(rows), np.int64)
    # Images of a class are ordered by the hash: folds do not depend on the order of the rows.
    order = np.lexsort((row_positions(rows), codes))
    folds[order] = np.arange(len(rows)) % best_n_folds(np.bincount(codes))
    return folds


def best_n_folds(class_sizes: NDArray[np.integer]) -> int:
    """The number of folds, 5 to 10, that divides the classes most evenly; of equals, the largest.

    >>> best_n_folds(np.array([12, 12, 12])), best_n_folds(np.array([20, 20, 20]))
    (6, 10)
    """
    most = min(MOST_FOLDS, int(class_sizes.sum()))
    choices = range(min(FEWEST_FOLDS, most), most + 1)

    def unevenness(n_folds: int) -> float:
        """How far the sizes of the classes are from multiples of the number of folds."""
        rest = class_sizes % n_folds
        return float((rest * (n_folds - rest) / n_folds).sum())

    return min(choices, key=lambda n_folds: (round(unevenness(n_folds), 9), -n_folds))


def _groups(rows: Array) -> NDArray[np.int64]:
    n_groups = min(MOST_GROUPS, len(rows) // GROUP_SIZE)
    if n_groups < 2 or len(rows) > MOST_TO_GROUP:
        return np.zeros(len(rows), np.int64)
    # Imported here: images with classes need no groups, and it takes 0.3 s.
    from scipy.cluster.hierarchy import fcluster, linkage

    tree = linkage(rows, "ward")
    return np.asarray(fcluster(tree, n_groups, "maxclust") - 1, np.int64)
