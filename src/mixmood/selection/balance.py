"""Even classes among the images that are kept."""

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
    *,
    most_per_class: int | None = None,
) -> NDArray[np.bool_]:
    """Of the kept images, the best of each class, as many of each as of the rarest class.

    A class of which nothing was kept does not count, or nothing would remain.

    Args:
        scores: Shape (n,); the best of a class stay, ties go to the lower index.
        classes: The predicted class of each image, 0 to n_classes - 1.
        is_kept: Which images are kept so far.
        n_classes: How many classes there are.
        most_per_class: Images of a class; the size of the rarest kept class if None.
    """
    if not scores.shape == classes.shape == is_kept.shape:
        raise ShapeError(
            "Scores, classes and the kept mask must have one entry for each image; got "
            f"{scores.shape}, {classes.shape} and {is_kept.shape}."
        )
    sizes = np.bincount(classes[is_kept], minlength=n_classes)
    if not sizes.any():
        return is_kept.copy()
    limit = int(sizes[sizes > 0].min()) if most_per_class is None else most_per_class
    order = np.lexsort((np.arange(len(scores)), -scores))
    order = order[is_kept[order]]
    chosen = np.zeros(len(scores), bool)
    for code in range(n_classes):
        chosen[order[classes[order] == code][:limit]] = True
    return chosen
