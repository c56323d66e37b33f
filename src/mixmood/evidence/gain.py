"""How much does a pool change the accuracy, what gain is expected, how many labels is it worth?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import erf, hypot, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from mixmood.core.arrays import Array, Codes
from mixmood.evidence.accuracy import fit_in_parts, mean_and_error
from mixmood.heads.problem import Head, HeadProblem, directions, head_problem
from mixmood.heads.registry import HEADS, head_named
from mixmood.numerics.folds import Folds, repeated_folds, training_weights
from mixmood.numerics.logistic import fit_temperature, log_likelihood

N_FOLDS = 5
N_PARTS = 2  # parts of a pool; each is probed with its own folds and training
N_PART = 500
"""Pool images in a part. The number is fixed, so that reading more does not change the result.

Parts of 200 take as long, and their result differs by several points from one draw to another."""
CLEAR = 2.0  # standard errors from which a lead over the largest class, or a slope, is clear
USUAL_SPREAD, USUAL_WEIGHT = 0.15, 5
"""The usual standard deviation of the change of an image, and the number of images it counts as.

A few images show little of their spread, and none if all of them are classified correctly."""


@dataclass(frozen=True)
class LabelledFolds:
    """Labelled images with their folds and the out-of-fold predictions of the supervised head."""

    features: Array
    codes: Codes
    n_classes: int
    groups: Codes
    folds: Folds  # one division into folds for each part of a pool, shape (parts, n)
    problems: tuple[HeadProblem, ...]  # of each part, without a pool yet: fitted once for all pools
    p_right: Array  # calibrated probability of the right class, (parts, n); NaN if never held out
    is_right: Array  # 1 if the right class is predicted, else 0; the same shape

    @property
    def accuracy(self) -> float:
        """The cross-validated accuracy of the supervised head."""
        return float(np.nanmean(self.is_right))

    @property
    def is_learnable(self) -> bool:
        """Whether the supervised head is clearly better than always guessing the largest class."""
        largest = np.bincount(self.codes).max() / len(self.codes)
        # Images of one group tend to be right or wrong together, so a group counts as one image.
        error = np.sqrt(largest * (1 - largest) / len(np.unique(self.groups)))
        return bool(self.accuracy > largest + CLEAR * error)


@dataclass(frozen=True)
class PoolEffect:
    """How a pool changes the predictions of held-out labelled images, in points (percent)."""

    p_right: float  # mean change of the calibrated probability of the right class
    error: float  # its standard error due to the sample of labelled images (groups)
    unrest: float  # half the difference between the parts of the pool, due to draw and training
    accuracy: float  # mean change of the share of right predictions
    n_held_out: int | None = None  # None if it was not recorded


def labelled_folds(
    features: Array,
    codes: Codes,
    n_classes: int,
    rng: np.random.Generator,
    groups: Codes | None = None,
) -> LabelledFolds:
    """Folds of the labelled images, and the predictions of the supervised head out of fold.

    InputError where there are fewer than two classes, or none with two images (groups).
    """
    members = np.arange(len(codes)) if groups is None else groups
    folds = repeated_folds(codes, N_FOLDS, N_PARTS, rng, members)
    problems = tuple(
        head_problem(features, codes, n_classes, None, training_weights(row[None])[0])
        for row in folds
    )
    found = _predicted(HEADS["supervised"], problems, features, codes, folds, rng)
    return LabelledFolds(features, codes, n_classes, members, folds, problems, *found)


def pool_effect(
    labelled: LabelledFolds,
    pool: Array,
    algorithm: str,
    rng: np.random.Generator,
    useful: Array | None = None,
) -> PoolEffect:
    """The change from the supervised head to a head that also uses the pool, on the same folds.

    The first N_PARTS * N_PART images of `pool`, (m, d), are used; their order must be random.
    `useful`, (m,), is the chance of each to be useful; 1 if None.
    """
    chances = np.ones(len(pool)) if useful is None else useful
    parts = zip(labelled.problems, parts_of(pool), parts_of(chances), strict=True)
    problems = (problem.with_pool(part, chance) for problem, part, chance in parts)
    head, own = head_named(algorithm), labelled
    p_right, is_right = _predicted(head, problems, own.features, own.codes, own.folds, rng)
    changes = p_right - labelled.p_right
    means, n_seen = np.nanmean(changes, axis=1), np.isfinite(changes).sum(axis=0)
    is_seen = n_seen > 0
    # The mean change of each image over the parts in which it was held out.
    by_image = np.nansum(changes[:, is_seen], axis=0) / n_seen[is_seen]
    return PoolEffect(
        p_right=100 * float(means.mean()),
        error=100 * _error(by_image, labelled.groups[is_seen]),
        n_held_out=int(is_seen.sum()),
        unrest=50 * float(abs(means[0] - means[1])),
        accuracy=100 * float(np.nanmean(is_right - labelled.is_right)),
    )


def parts_of(pool: Array) -> Sequence[Array]:
    """Two parts of a pool, of at most N_PART rows each; a single row is in both parts."""
    size = max(min(N_PART, len(pool) // N_PARTS), 1)
    return [pool[k * size : (k + 1) * size] if len(pool) > size else pool for k in range(N_PARTS)]


def _predicted(
    head: Head,
    problems: Iterable[HeadProblem],
    features: Array,
    codes: Codes,
    folds: Folds,
    rng: np.random.Generator,
) -> Array:
    """Calibrated probability of the right class, and 1 where it is predicted: `LabelledFolds`."""
    found, rows = np.full((2, *folds.shape), np.nan), directions(features)
    for part, (problem, fold_of) in enumerate(zip(problems, folds, strict=True)):
        logits = fit_in_parts(head, problem, rows, int(rng.integers(2**63)))[1]
        is_seen = fold_of >= 0
        fit_of = np.unique(fold_of[is_seen], return_inverse=True)[1]
        own, seen = logits[fit_of, np.flatnonzero(is_seen)], codes[is_seen]
        # Calibrated, so that a head that is only more confident does not look better.
        found[0, part, is_seen] = np.exp(log_likelihood(own / fit_temperature(own, seen), seen))
        found[1, part, is_seen] = own.argmax(axis=1) == seen
    return found


def _error(changes: Array, groups: Codes) -> float:
    """The standard error of the mean change, shrunk to the usual one where images are few."""
    n_groups = len(np.unique(groups))
    usual = USUAL_SPREAD**2 / n_groups
    if n_groups == 1:
        return float(np.sqrt(usual))
    squared = mean_and_error(changes, groups)[1] ** 2
    total = n_groups + USUAL_WEIGHT
    return float(np.sqrt((n_groups * squared + USUAL_WEIGHT * usual) / total))


_NUMBERS = ("offset", "share", "room", "both", "slope", "spread", "factor", "common", "most_wrong")
POINTS: dict[str, dict[str, float]] = {
    name: dict(zip(_NUMBERS, row, strict=True))
    for name, row in {
        "pseudo-label": (0.02544, 0.2836, 0.00122, 0.07728, 0.2057, 0.6337, 0.9083, 0.6969, 0.725),
        "propagation": (0.1708, 0.4759, 0.5066, -0.8396, 0.1614, 0.4175, 0.611, 0.6902, 0.5667),
        "mixmatch": (-0.5574, 1.527, 0.04547, -3.667, 0.2312, 0.9472, 0.9245, 0.4355, 0.5667),
    }.items()
}
"""The numbers of the map from probe to points, as `benchmarks.probe.fit` prints them.

Fitted by maximum likelihood on 500 pools of 20 development tasks (from classes 0 to 4 of MNIST,
FashionMNIST and CIFAR-10, and from seven breeds of pets) in the view that their labels choose, 20,
60, 150 labels; the last two heads on 100 of them. Errors are such that intervals hold 95 % of
the pools of each pack when it is left out."""
WIDTH = 1.96  # standard errors to either side in 95 % intervals
UNKNOWN_SHARE, UNKNOWN_SPREAD = 0.5, 0.29  # mean and standard deviation of a uniform one


@dataclass(frozen=True)
class Gain:
    """The expected change of accuracy on new images, in points, and its standard error."""

    points: float
    error: float
    order_error: float = 0.0  # the part that is not common to all pools: it may change their order

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the change."""
        return self.points - WIDTH * self.error, self.points + WIDTH * self.error

    @property
    def p_helps(self) -> float:
        """The probability that the change is above 0.

        >>> round(Gain(1.96, 1.0).p_helps, 3), Gain(0.0, 1.0).p_helps
        (0.975, 0.5)
        """
        return 0.5 * (1 + erf(self.points / (self.error * sqrt(2))))


def gain_of(
    effect: PoolEffect, useful_share: float | None, accuracy: float, algorithm: str
) -> Gain:
    """The gain of a head, from the effect of the pool and its useful share, None if not known.

    points = offset + share * useful share + (room + both * useful share) * wrong
             + slope * change of the probability of the right class

    `wrong` is the share of the labelled images that are wrong without a pool. The squared error is
    spread^2 + (factor * standard error of the change)^2: the first part is due to other draws,
    trainings and data sets. All pools of a labelled set have the share `common` of it in common.
    Beyond `most_wrong`, which no development task exceeded, the map stays constant, and the change
    that it would have is added to the error.
    """
    fitted = POINTS[algorithm]
    wrong = min(1 - accuracy, fitted["most_wrong"])
    slope_of_share = fitted["share"] + fitted["both"] * wrong
    share = UNKNOWN_SHARE if useful_share is None else useful_share
    share_error = UNKNOWN_SPREAD * slope_of_share if useful_share is None else 0.0
    points = fitted["offset"] + fitted["room"] * wrong + slope_of_share * share
    points += fitted["slope"] * effect.p_right
    beyond = (abs(fitted["room"]) + abs(fitted["both"]) * share) * (1 - accuracy - wrong)
    error = hypot(fitted["spread"], fitted["factor"] * effect.error, share_error, beyond)
    return Gain(points, error, error * sqrt(1 - fitted["common"]))


SHARES = (0.25, 0.4, 0.63, 1.0)  # shares of the training labels at which the accuracy is measured
FLATTER = 0.85  # curves flatten: the part of the measured slope that is left beyond these labels
USUAL_SLOPE, SLOPE_SPREAD = 0.25, 2.3
"""The usual slope, as a share of the points that are wrong, and the usual deviation from it.

On development tasks with 60 labels, compared with what 60 more labels gain, the measured slope
alone was twice too steep where it was clear, and it was not clear in 14 of 24 tasks."""
FARTHEST = 3.0  # the curve is read up to so many times the present number of labels
QUANTILES = ndtri((np.arange(40) + 0.5) / 40)  # equally probable values of a standard normal


@dataclass(frozen=True)
class LearningCurve:
    """Accuracy in points = a constant + slope * log(number of labels)."""

    slope: float
    error: float
    n_labels: int

    @property
    def is_clear(self) -> bool:
        """Whether more labels clearly raise the accuracy."""
        return self.slope > CLEAR * self.error

    def points(self, n_labels: float) -> float:
        """The points that so many further labels give.

        >>> round(LearningCurve(10.0, 1.0, 60).points(30), 2)
        4.05
        """
        return self.slope * float(np.log1p(n_labels / self.n_labels))

    def worth(self, points: float) -> int | None:
        """The number of further labels that give as many points; None where the curve cannot tell.

        >>> LearningCurve(10.0, 1.0, 60).worth(4.1), LearningCurve(10.0, 9.0, 60).worth(4.1)
        (30, None)
        """
        return self._labels(points, self.slope) if self.is_clear else None

    def worth_interval(self, points: float, error: float) -> tuple[int, int | None]:
        """The 95 % interval of the worth of a gain with a standard error; None means no upper end.

        Gain and slope are both uncertain: all pairs of their quantiles are equally probable.

        >>> LearningCurve(10.0, 1.0, 60).worth_interval(4.1, 1.0)
        (14, 54)
        """
        gains = points + error * QUANTILES
        slopes = np.maximum(self.slope + self.error * QUANTILES, 1e-3)
        ratios = np.sort(np.maximum(gains[:, None], 0.0) / slopes, axis=None)
        low, high = np.quantile(ratios, [0.025, 0.975])
        return self._labels(float(low), 1.0) or 0, self._labels(float(high), 1.0)

    def _labels(self, points: float, slope: float) -> int | None:
        times = float(np.exp(min(max(points, 0.0) / slope, 20.0)))
        return None if times > FARTHEST else round((times - 1) * self.n_labels)


def learning_curve(labelled: LabelledFolds, rng: np.random.Generator) -> LearningCurve:
    """The slope of held-out accuracy over the logarithm of the number of training labels.

    Every fold's training rows are thinned, class by class. A few dozen images measure a slope
    badly: it is averaged with the usual one at this accuracy. It is not clear if nothing is learnt.
    """
    if not labelled.is_learnable:
        return LearningCurve(0.0, float("inf"), len(labelled.codes))
    weights, held_out = training_weights(labelled.folds[:1])
    codes = labelled.codes
    thinned = np.stack([_thinned(one, codes, share, rng) for share in SHARES for one in weights])
    problem = head_problem(labelled.features, codes, labelled.n_classes, weights=thinned)
    logits = fit_in_parts(HEADS["supervised"], problem, directions(labelled.features))[1]
    is_right = (logits.argmax(axis=2) == codes).reshape(len(SHARES), *held_out.shape)
    table = np.where(held_out, is_right, np.nan)
    by_share = np.log(thinned.sum(axis=1)).reshape(len(SHARES), -1).mean(axis=1)
    # Each image is held out once at each share: a line is fitted to each, then averaged.
    hits = np.nansum(table, axis=1) * 100.0
    is_seen = np.isfinite(table).any(axis=(0, 1))
    off = by_share - by_share.mean()
    slopes = (off[:, None] * hits[:, is_seen]).sum(axis=0) / (off**2).sum()
    slope, error = mean_and_error(slopes, labelled.groups[is_seen])
    usual = USUAL_SLOPE * 100 * (1 - labelled.accuracy)
    # Weighted by inverse variances. Where all images are classified correctly, the error is 0.
    own, other = 1 / max(error, SLOPE_SPREAD / 2) ** 2, 1 / SLOPE_SPREAD**2
    mean = (own * FLATTER * slope + other * usual) / (own + other)
    return LearningCurve(mean, float(1 / np.sqrt(own + other)), len(labelled.codes))


def _thinned(
    weights: NDArray[np.float64], codes: Codes, share: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Weights of a part of the training rows; at least one row of each class stays."""
    kept = np.zeros_like(weights)
    for code in np.unique(codes[weights > 0]):
        rows = rng.permutation(np.flatnonzero((codes == code) & (weights > 0)))
        kept[rows[: max(1, round(share * len(rows)))]] = 1.0
    return kept
