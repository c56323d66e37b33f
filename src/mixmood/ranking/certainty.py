"""How sure distances and their order are."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from mixmood.core.arrays import Array

N_POSSIBLE = 4000
"""Tables as they could have come out, from which chances and ranks are counted."""


@dataclass(frozen=True)
class Certainty:
    """Distances, shape (measures, pools), and how they vary together with other images.

    `covariance` has shape (measures, pools, pools), and `freedom` degrees of freedom.
    """

    distances: Array
    covariance: Array
    freedom: int

    @classmethod
    def of(cls, signed: Array, spread: Array, images: Array, freedom: int) -> "Certainty":
        """What draws, and the images' part of their covariance, say together.

        A mean of C draws varies by what draws have in common, the images' part, and by the C-th
        part of what each has for itself. A distance is a mean of sizes, not of signed values:
        where half of the draws have either sign, other images move it not at all.

        Args:
            signed: Inter minus intra of each draw, shape (measures, pools, C).
            spread: The same of the draws that tell the noise of drawing, at least C of them.
            images: The covariance between signed draws, shape (measures, pools, pools).
            freedom: Degrees of freedom of `images`.
        """
        leaning = np.sign(spread).mean(axis=-1)
        both = leaning[:, :, None] * leaning[:, None, :]
        sizes = np.abs(spread) - np.abs(spread).mean(axis=-1, keepdims=True)
        noise = sizes @ sizes.mT / (spread.shape[-1] - 1)
        return cls(np.abs(signed).mean(axis=-1), both * images + noise / signed.shape[-1], freedom)

    @property
    def standard_errors(self) -> Array:
        """The standard error of every distance, shape (measures, pools)."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2)))

    def intervals(self) -> Array:
        """95 % intervals by Student's t, shape (measures, pools, 2); never below 0."""
        reach = stdtrit(self.freedom, 0.975) * self.standard_errors
        low = np.maximum(self.distances - reach, 0.0)
        return np.stack([low, self.distances + reach], axis=-1)

    def possible(self, rng: np.random.Generator) -> Array:
        """Distances by the first measure as they could have come out, shape (pools, N_POSSIBLE)."""
        values, vectors = np.linalg.eigh(self.covariance[0])
        axes = vectors * np.sqrt(np.maximum(values, 0.0))
        moves = axes @ rng.standard_normal((len(values), N_POSSIBLE))
        # Dividing all pools of a table by the same number makes Student's t of a normal.
        scale = np.sqrt(rng.chisquare(self.freedom, N_POSSIBLE) / self.freedom)
        return np.asarray(self.distances[0][:, None] + moves / scale)


def chances_of_best(possible: Array) -> Array:
    """How often each pool comes out nearest, shape (pools,); ties share. `possible`: (pools, n)."""
    is_nearest = possible == possible.min(axis=0)
    return np.asarray((is_nearest / is_nearest.sum(axis=0)).mean(axis=1))


def rank_intervals(possible: Array) -> Array:
    """The ranks that each pool takes in 95 % of the tables, shape (pools, 2). 1 is nearest."""
    places = [_places(possible, own) for own in possible]
    return np.array(
        [
            (
                np.quantile(first, 0.025, method="lower"),
                np.quantile(last, 0.975, method="higher"),
            )
            for first, last in places
        ],
        int,
    )


def _places(possible: Array, own: Array) -> tuple[Array, Array]:
    """The first and the last rank that distances could claim, shape (n,); they differ by ties."""
    n_below = (possible < own).sum(axis=0)
    return n_below + 1, n_below + (possible == own).sum(axis=0)
