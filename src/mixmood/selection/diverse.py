"""Diverse images: images that are similar to those already chosen come last."""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.errors import OptionError
from mixmood.numerics.neighbours import unit_rows


def diverse_order(
    features: Array, scores: Array, n_chosen: int, strength: float = 0.5
) -> NDArray[np.int64]:
    """Indices of the chosen images in order: each is typical and differs from those before it.

    Greedy: the next image has the largest (1 - strength) * rank of its score + strength * (1 -
    largest cosine to those chosen), ranks scaled to 0..1 (maximal marginal relevance, Carbonell and
    Goldstein, 1998). Strength 0 gives the order of the scores. Time is n_chosen * n * d.

    Args:
        features: Of the candidates, shape (n, d); n should be small, as of a kept part.
        scores: Shape (n,).
        n_chosen: How many; all if there are fewer.
        strength: 0 to 1.
    """
    if not 0 <= strength <= 1:
        raise OptionError(f"The strength of diversity must be between 0 and 1; got {strength:g}.")
    n = len(scores)
    rows = unit_rows(features)
    by_score = np.lexsort((np.arange(n), -scores))
    merit = np.empty(n)
    merit[by_score] = (1 - strength) * np.linspace(1.0, 0.0, n) if n > 1 else 1.0
    nearest = np.full(n, -1.0)
    chosen = np.empty(min(n_chosen, n), np.int64)
    is_open = np.ones(n, bool)
    for step in range(len(chosen)):
        values = np.where(is_open, merit + strength * (1 - nearest), -np.inf)
        chosen[step] = best = int(values.argmax())
        is_open[best] = False
        nearest = np.maximum(nearest, rows @ rows[best])
    return chosen
