"""The labelled images that are nearest to each image of a pool."""

from mixmood.core.arrays import Array
from mixmood.numerics.neighbours import Neighbours, cosine_neighbours
from mixmood.scores.checks import checked_labelled, checked_rows


def nearest_labelled(labelled: Array, features: Array, n_nearest: int = 1) -> Neighbours:
    """Indices of labelled images and cosines, shapes (n, n_nearest), the nearest first.

    Raw cosines, without a centre: a copy has cosine 1 whatever the pool is.
    """
    own = checked_labelled(labelled, None)
    return cosine_neighbours(checked_rows(features, "The images", own.shape[1]), own, n_nearest)
