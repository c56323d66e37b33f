"""Balanced classes: as many kept images of each class."""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import ShapeError

TOO_MANY_OF_CLASS = "more of its class than of others"


def balanced(
    scores: Array,
    classes: NDArray[np.integer],
    is_kept: NDArray[np.bool_],
    n_classes: int,
) -> NDArray[np.bool_]:
    """The best of the kept images of each class, as many as the rarest kept class has.

    Classes without a kept image are ignored; otherwise nothing would remain.

    Args:
        scores: Shape (n,); the best of a class stay, of equal scores the lower index.
        classes: The predicted class of each image, 0 to n_classes - 1.
        is_kept: Which images are kept so far.
        n_classes: How many classes there are.
    """
    if not scores.shape == classes.shape == is_kept.shape:
        raise ShapeError(
            "Scores, classes and the kept mask must have one entry for each image; got "
            f"{scores.shape}, {classes.shape} and {is_kept.shape}."
        )
    sizes = np.bincount(classes[is_kept], minlength=n_classes)
    if not sizes.any():
        return is_kept.copy()
    limit = int(sizes[sizes > 0].min())
    order = np.lexsort((np.arange(len(scores)), -scores))
    order = order[is_kept[order]]
    chosen = np.zeros(len(scores), bool)
    for code in range(n_classes):
        chosen[order[classes[order] == code][:limit]] = True
    return chosen
