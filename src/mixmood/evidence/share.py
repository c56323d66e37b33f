"""The part of a pool that could have come from the labelled classes, with a 95 % interval.

Let G(x) be the part of the pool above the score that the part x of the labelled images exceeds.

    G(x) = share * x + (1 - share) * Phi(b * Phi^-1(x) - shift)

is fitted. The second term is the ROC curve of two normal distributions, after any monotone change
of the score (Dorfman and Alf, J. Math. Psychology, 1969). The least slope of G needs no model, but
on development tasks with near sources it was too high by 0.05 to 0.2, this model by 0.003. Where
foreign and useful images differ little, a small share with a small shift fits as well as a large
one with a large shift: the separation has a lower limit, found by treating each labelled class in
turn as foreign.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, softmax

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import OptionError
from mixmood.core.options import DEFAULT_SCORE
from mixmood.core.records.ranking import ShareRecord
from mixmood.core.text import counted, in_percent
from mixmood.numerics.logistic import fit_logistic, one_hot
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting import (
    ComparedRows,
    Fit,
    FitRows,
    checked_sets,
    compared_rows,
    signed_roots,
    typical_threshold,
)
from mixmood.scores.registry import FittedScore, score_family

MOST_FITTED, MOST_FITTED_POOL = 2000, 1000
"""The largest numbers of labelled and of pool rows in a fit. The standard error of a share is then
up to 0.02, less than that from 60 labelled images."""
FEWEST_LABELLED, FEWEST_POOL = 20, 50  # with fewer the interval is 0 to 1, and a note says why
WIDTH = 2.5  # standard errors to either side; more than 1.96, because the model is not exact
CLEAR = 1.5  # standard errors by which weighted classes must raise the estimate to be used
TYPICAL = 0.95
LEAST_CLASS_WEIGHT, MOST_CLASS_WEIGHT = 0.2, 5.0
LEVELS = np.linspace(0.04, 0.96, 24)  # the parts of the labelled images above the thresholds (x)
SPREADS = (0.7, 1.0, 1.4)  # values of b: the spread of labelled scores by that of foreign ones
# The distance of the means in standard deviations at equal spread: AUROC = Phi(it / sqrt 2).
SEPARATIONS = np.concatenate([np.linspace(0.4, 4.0, 37), [5.0, 6.0, 8.0]])
FLOOR = 0.02  # added to the variance x (1 - x) of a level: weights at the ends stay finite
TOLERANCE = 0.2
"""Fits whose squared error is larger by at most this, divided by the number of labelled images,
count as equally good. On development tasks 0 to 0.8 move the bias by 0.02, the error by less."""
FEWEST_CLASSES, MOST_CLASSES = 3, 10  # trials need so many; of more, a random choice is tried
POOL_ROWS = 500  # the largest number of pool rows in a trial: each trial is a fit
TRUSTED_AUROC = 0.8  # below it, many near foreign images are counted as useful
NEAREST, FARTHEST = 0.8, 1.3
"""Limits of the separation that is taken from the trials: foreign classes may be nearer to the
labelled classes than these are to each other. On development tasks, upper limits from 1.2 to 1.6
change the bias by at most 0.02; 2.0 raises it to 0.04 and lowers the coverage to 86 %."""
CLASS_PENALTY = 0.1  # of the logistic regression on unit rows
N_STEPS = 50
PRIOR_IMAGES = 20  # the weight of the prior in images: few images do not move the shares far


@dataclass(frozen=True)
class MixtureShare:
    """An estimate of the share, its standard error, and the estimate at the least separation."""

    share: float
    error: float
    least: float


def share_and_chances(
    labelled: Array, pool: Array, rng: np.random.Generator, labels: Codes | None
) -> tuple[ShareRecord, Array]:
    """The useful share, and the chance of each pool image to be useful, shape (m,).

    By Bayes' rule the chance is share * f(score) / g(score), with f the density of the labelled
    scores and g that of the pool, and it never falls as the score rises.
    """
    found, fit = share_of_fit(labelled, pool, rng, labels=labels)
    scores = fit.pool
    if len(scores) < len(pool):  # a part of a large pool is enough for the fit
        scores = FittedScore(DEFAULT_SCORE, fit, labelled.shape[1]).score(pool)
    return found, np.interp(scores, *useful_chances(found.share, fit))


def useful_chances(share: float, fit: Fit) -> tuple[Array, Array]:
    """The scores of the pool in rising order, and the chance of an image with each score."""
    scores = np.sort(fit.pool)
    width = max(float(np.std(fit.labelled)) * len(fit.labelled) ** -0.2, 1e-9)

    def density(of: Array) -> Array:
        return np.asarray(np.exp(-0.5 * ((scores[:, None] - of[None]) / width) ** 2).mean(axis=1))

    ratio = density(fit.labelled) / np.maximum(density(fit.pool), 1e-300)
    return scores, np.maximum.accumulate(np.clip(share * ratio, 0.0, 1.0))


def share_of_fit(
    labelled: Array,
    pool: Array,
    rng: np.random.Generator,
    *,
    labels: Codes | None = None,
    family: str = DEFAULT_SCORE,
) -> tuple[ShareRecord, Fit]:
    """The useful share of a pool, and the fit that it is estimated from.

    A cross-fitted score (of a `family`) separates labelled from pool images; the useful part is
    the part that it cannot separate. As classes may have other shares in the pool, the score is
    also fitted with labelled images weighted to the shares found there, and the larger estimate,
    and its fit, are used if the difference is clear.

    For far sources the share is right even if it is not trustworthy. On report tasks with near
    sources the interval contained the true share in 96 % of the trustworthy cases, and in all of
    the others. `pool` is a random sample. Of over 2000 labelled, 1000 pool rows, a part is used.
    """
    labelled, pool = checked_sets(labelled, pool, labels)
    own = _random_part(len(labelled), MOST_FITTED, rng)
    labelled, labels = labelled[own], None if labels is None else np.asarray(labels)[own]
    pool = pool[_random_part(len(pool), MOST_FITTED_POOL, rng)]
    rows, score = compared_rows(labelled, pool), score_family(family)
    if not score.is_cross_fitted:
        raise OptionError(
            f"The useful share needs a cross-fitted score; '{family}' is none. Use 'combined'."
        )
    fit = score.fit(rows, labels, None)
    near = None if labels is None else near_auroc(rows, labels, rng, score.fit)
    least = least_separation(near)
    estimate = mixture_share(fit.labelled, fit.pool, rng, least_separation=least)
    highest = 0.0
    if labels is not None and len(np.unique(labels)) > 1:
        importance = _importance(labelled, labels, pool, fit)
        weighted = score.fit(rows, labels, importance)
        other = mixture_share(
            weighted.labelled, weighted.pool, rng, least_separation=least, importance=importance
        )
        # The larger estimate is used only if it is larger by more than noise; otherwise it only
        # raises the upper end of the interval.
        highest = other.share
        if other.share > estimate.share + CLEAR * max(estimate.error, other.error):
            fit, estimate = weighted, other
    return _described(estimate, near, len(labelled), len(pool), highest), fit


def _importance(labelled: Array, labels: Codes, pool: Array, fit: Fit) -> Array:
    """The weight of each labelled image, by the shares of classes among typical pool images."""
    # A low threshold: a class that is more common in the pool than among the labelled images scores
    # too low. Most near foreign images are left out; a k-NN threshold on raw features keeps them.
    is_typical = fit.pool >= typical_threshold(fit.labelled, TYPICAL)
    codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    prior = sizes / sizes.sum()
    shares = class_shares(class_probabilities(labelled, labels, pool[is_typical]), prior)
    # Limited: a few images must not represent a large part of the pool, and none has weight 0.
    return np.asarray(np.clip(shares / prior, LEAST_CLASS_WEIGHT, MOST_CLASS_WEIGHT)[codes])


def _described(
    estimate: MixtureShare, near: float | None, n: int, m: int, highest: float
) -> ShareRecord:
    """The share with its interval, which reaches at least to `highest`."""
    # The second term is the effect of one labelled and one pool image: a lower limit of the error.
    margin = WIDTH * float(np.hypot(estimate.error, estimate.share / n + 1 / m))
    low = max(0.0, min(estimate.share - margin, estimate.least - margin / 2))
    low = low if near is None else without_near_foreign(low, near)
    high = max(min(1.0, estimate.share + margin), highest)
    note = ""
    if n < FEWEST_LABELLED or m < FEWEST_POOL:
        low, high = 0.0, 1.0
        note = (
            f"{counted(n, 'labelled image')} and {counted(m, 'pool image')} are too few for an "
            f"estimate (wanted: {FEWEST_LABELLED} and {FEWEST_POOL})."
        )
    elif near is None:
        note = (
            "Not tested for near foreign classes: the test needs labels of three classes or more, "
            "with two images or more of each."
        )
    elif near < TRUSTED_AUROC:
        note = (
            "Foreign images that are as similar as the labelled classes are to each other would "
            f"partly count as useful: in {in_percent(1 - near)} of the cases they score above a "
            "labelled image."
        )
    return ShareRecord(estimate.share, (low, high), note == "", note)


def _below(pool: Array, thresholds: Array) -> Array:
    """The part of the pool below each threshold, ties counted half."""
    ascending = np.sort(pool)
    sides = [np.searchsorted(ascending, thresholds, side) for side in ("left", "right")]
    return np.asarray((sides[0] + sides[1]) / (2 * len(pool)))


def auc(labelled: Array, pool: Array) -> float:
    """The probability that a labelled image scores above a pool image, ties counted half."""
    return float(_below(pool, labelled).mean())


def pool_above(labelled: Array, pool: Array, importance: Array | None = None) -> Array:
    """The part of the pool above the threshold of each of LEVELS, ties counted half."""
    if labelled.min() == labelled.max():
        # All labelled scores are equal: a tie counts as above in the part x of the cases.
        return np.asarray((pool > labelled[0]).mean() + (pool == labelled[0]).mean() * LEVELS)
    order = np.argsort(labelled, kind="stable")
    own = np.ones(len(labelled)) if importance is None else importance[order]
    above = (np.cumsum(own[::-1])[::-1] - own / 2) / own.sum()
    return 1 - _below(pool, np.interp(LEVELS, above[::-1], labelled[order][::-1]))


_SEPARATION_OF = np.repeat(SEPARATIONS, len(SPREADS))
_SPREAD_OF = np.tile(SPREADS, len(SEPARATIONS))
_SHIFTS = _SEPARATION_OF * np.sqrt((1 + _SPREAD_OF**2) / 2)
_CURVES = ndtr(_SPREAD_OF[:, None] * ndtri(LEVELS) - _SHIFTS[:, None])  # by separation and spread
_WEIGHTS = 1 / (LEVELS * (1 - LEVELS) + FLOOR)


def binormal_share(
    labelled: Array, pool: Array, least_separation: float, importance: Array | None = None
) -> float:
    """The share with the least squared error over all allowed separations and spreads.

    Of fits of cross-fitted scores that are nearly as good, the largest share is taken.
    """
    is_allowed = min(least_separation, SEPARATIONS[-1]) <= _SEPARATION_OF + 1e-9
    curves = _CURVES[is_allowed]
    misses, slopes = pool_above(labelled, pool, importance) - curves, LEVELS - curves
    shares = np.clip((slopes * misses) @ _WEIGHTS / ((slopes**2) @ _WEIGHTS), 0.0, 1.0)
    errors = (misses - shares[:, None] * slopes) ** 2 @ _WEIGHTS
    is_as_good = errors <= errors.min() + TOLERANCE / len(labelled)
    return float(shares[is_as_good].max())


def mixture_share(
    labelled: Array,
    pool: Array,
    rng: np.random.Generator,
    *,
    least_separation: float,
    importance: Array | None = None,
    n_halves: int = 100,
) -> MixtureShare:
    """The share of a pool that is like the labelled images, from cross-fitted scores.

    Its standard error is the spread over random halves of the images, without a factor: a half has
    twice the variance of the whole, and drawing it without replacement halves the variance.
    """
    n, m = len(labelled), len(pool)
    halves = np.empty(n_halves)
    for i in range(n_halves):
        own, others = rng.permutation(n)[: (n + 1) // 2], rng.permutation(m)[: (m + 1) // 2]
        part = None if importance is None else importance[own]
        halves[i] = binormal_share(labelled[own], pool[others], least_separation, part)
    return MixtureShare(
        binormal_share(labelled, pool, least_separation, importance),
        float(halves.std()),
        binormal_share(labelled, pool, SEPARATIONS[0], importance),
    )


def near_auroc(
    rows: ComparedRows, labels: Codes, rng: np.random.Generator, fit_rows: FitRows
) -> float | None:
    """The mean AUROC with which a labelled class is found when it is treated as foreign.

    That is the chance that an image of the other classes scores above one of the class that is
    moved to the pool. None with fewer than three classes of two images or more.
    """
    classes, sizes = np.unique(labels, return_counts=True)
    usable = classes[sizes >= 2]
    if len(usable) < FEWEST_CLASSES:
        return None
    sample = rows.n_labelled + rng.permutation(len(rows.pool))[:POOL_ROWS]
    aurocs = []
    for name in rng.permutation(usable)[:MOST_CLASSES]:
        is_foreign = labels == name
        pool = np.concatenate([np.flatnonzero(is_foreign), sample])
        trial = rows.part(np.flatnonzero(~is_foreign), pool)
        fit = fit_rows(trial, labels[~is_foreign], None)
        aurocs.append(auc(fit.labelled, fit.pool[: is_foreign.sum()]))
    return float(np.mean(aurocs))


def least_separation(near: float | None) -> float:
    """The smallest separation of foreign images to allow, in standard deviations of the score.

    It follows from the AUROC of the trials, where the class is rare in the pool, so that the score
    learns little about it. Without trials it is NEAREST.

    >>> least_separation(None), round(least_separation(0.75), 2), least_separation(0.99)
    (0.8, 0.95, 1.3)
    """
    if near is None:
        return NEAREST
    return float(np.clip(np.sqrt(2) * ndtri(near), NEAREST, FARTHEST))


def without_near_foreign(low: float, near: float) -> float:
    """The lower end of a share, if foreign images are as near as the classes are to each other.

    A part 1 - near of such images scores like useful ones, so that the estimated share is
    share + (1 - share) (1 - near). If the classes cannot be told apart at all (near 0.5), any
    number of foreign images could go unnoticed. On development tasks with near sources, the
    interval contained the true share in 88 % of 56 pools without this correction, and in 96 % with.

    >>> round(without_near_foreign(0.55, 0.9), 6), without_near_foreign(0.9, 0.5)
    (0.5, 0.0)
    """
    trust = float(np.clip((near - 0.5) / (TRUSTED_AUROC - 0.5), 0.0, 1.0))
    return max(0.0, trust * low - (1 - near)) / max(near, 0.5)


def class_probabilities(labelled: Array, labels: Codes, features: Array) -> Array:
    """Class probabilities by a logistic regression, (m, k), in the order of the sorted labels."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) == 1:
        return np.ones((len(features), 1))
    own = signed_roots(labelled)
    centre = own.mean(axis=0)
    # Each class weighs the same, so that the prior of the probabilities is uniform.
    weights = len(codes) / (len(classes) * np.bincount(codes)[codes])
    targets, penalties = one_hot(codes, len(classes)), np.array([CLASS_PENALTY])
    model = fit_logistic(unit_rows(own, centre), targets, weights[None], penalties)
    logits = model.logits(unit_rows(signed_roots(features), centre))[0]
    return np.asarray(softmax(logits, axis=-1))


def class_shares(probabilities: Array, prior: Array) -> NDArray[np.float64]:
    """The shares of the classes among some images, from class probabilities with a uniform prior.

    Each step multiplies the probabilities by the present shares, divides by their sum over the
    classes and averages over the images (Saerens, Latinne and Decaestecker, 2002). The prior, such
    as the shares of the labelled classes, counts as 20 images; without images it is the result.

    >>> class_shares(np.array([[1.0, 0.0]] * 60 + [[0.0, 1.0]] * 20), np.array([0.5, 0.5])).tolist()
    [0.7, 0.3]
    """
    shares = prior
    for _ in range(N_STEPS):
        weighted = probabilities * shares
        totals = np.maximum(weighted.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        counts = (weighted / totals).sum(axis=0) + PRIOR_IMAGES * prior
        shares = counts / counts.sum()
    return np.asarray(shares)


def _random_part(n_rows: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """All rows if there are at most `most`, else `most` random ones, in order."""
    return np.arange(n_rows) if n_rows <= most else np.sort(rng.permutation(n_rows)[:most])
