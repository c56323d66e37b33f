"""The part of a pool that could have come from the labelled classes, with a 95 % interval."""

from dataclasses import dataclass, replace

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import OptionError
from mixmood.core.family_names import DEFAULT_SCORE
from mixmood.core.words import counted
from mixmood.scores.checks import checked_labelled, checked_pool
from mixmood.scores.class_shares import class_probabilities, class_shares
from mixmood.scores.fitting.compared import FitRows, compared_rows
from mixmood.scores.fitting.fit import Fit
from mixmood.scores.fitting.sample import MOST_LABELLED, MOST_POOL, random_part
from mixmood.scores.labelled_scale import typical_threshold
from mixmood.scores.registry import score_family
from mixmood.scores.share.mixture import MixtureShare, mixture_share
from mixmood.scores.share.self_calibration import (
    TRUSTED_AUROC,
    least_separation,
    near_auroc,
    without_near_foreign,
)

FEWEST_LABELLED = 20
"""With fewer labelled or pool images the interval is 0 to 1, and a note says why."""
FEWEST_POOL = 50
WIDTH = 2.5
"""Standard errors on each side of the interval: more than 1.96, because the model is not exact."""
CLEAR = 1.5
"""Standard errors by which weighted classes must raise the estimate to be used."""
TYPICAL = 0.95
LEAST_CLASS_WEIGHT, MOST_CLASS_WEIGHT = 0.2, 5.0


@dataclass(frozen=True)
class UsefulShare:
    """The estimated useful share of a pool, and how far it can be relied on."""

    share: float
    interval: tuple[float, float]
    """About 95 %, from leaving images out; wider if near foreign classes could go unnoticed."""
    is_trustworthy: bool
    """Whether a test with the labelled classes shows that near foreign images would be noticed.

    For far sources the share is right either way. On report tasks with near sources the interval
    contained the true share in 96 % of the trustworthy cases, and in all of the others.
    """
    note: str
    """Why the share is not trustworthy, in a sentence; empty if it is."""
    near_auroc: float | None
    """The AUROC with which a labelled class is found as a foreign one; None if not tested."""
    class_shares: tuple[float, ...] | None
    """Shares of the classes (sorted) among typical pool images; None without labels."""


def useful_share(
    labelled: Array,
    pool: Array,
    rng: np.random.Generator,
    *,
    labels: Codes | None = None,
    family: str = DEFAULT_SCORE,
) -> UsefulShare:
    """The useful share of a pool, from features of the labelled images and of a sample of the pool.

    A cross-fitted score separates labelled from pool images; the useful part of the pool is the
    part that it cannot separate (`scores.share.mixture`). With three classes or more, each in turn
    is treated as foreign, which shows how near foreign images may be
    (`scores.share.self_calibration`). Classes may have other shares in the pool than among the
    labelled images: the score is also fitted with labelled images weighted to the shares found in
    the pool, and the larger estimate is used if the difference is clear.

    Args:
        labelled: Shape (n, d).
        pool: A random sample of the pool, shape (m, d); of more than 1000 rows a part is used.
        rng: Decides the parts, and the random halves behind the interval.
        labels: The class of each labelled image, or None.
        family: A cross-fitted score, "classifier" or "combined".
    """
    own = checked_labelled(labelled, labels)
    return share_of_fit(own, checked_pool(pool, own.shape[1]), rng, labels=labels, family=family)[0]


def share_of_fit(
    labelled: Array,
    pool: Array,
    rng: np.random.Generator,
    *,
    labels: Codes | None,
    family: str,
) -> tuple[UsefulShare, Fit]:
    """The share, and the fit that it is estimated from, which may have weighted classes.

    The input was checked. Of more rows than a fit takes, a random part is used.
    """
    own = random_part(len(labelled), MOST_LABELLED, rng)
    labelled, labels = labelled[own], None if labels is None else np.asarray(labels)[own]
    pool = pool[random_part(len(pool), MOST_POOL, rng)]
    rows, fit_rows = compared_rows(labelled, pool), _cross_fit(family)
    fit = fit_rows(rows, labels, None)
    near = None if labels is None else near_auroc(rows, labels, rng, fit_rows)
    least = least_separation(near)
    estimate = mixture_share(fit.labelled, fit.pool, rng, least_separation=least)
    shares = None
    highest = 0.0
    if labels is not None and len(np.unique(labels)) > 1:
        shares = _typical_class_shares(labelled, labels, pool, fit)
        importance = _importance(labels, shares)
        weighted = fit_rows(rows, labels, importance)
        other = mixture_share(
            weighted.labelled, weighted.pool, rng, least_separation=least, importance=importance
        )
        # The larger estimate is used only if it is larger by more than noise; otherwise it only
        # raises the upper end of the interval.
        highest = other.share
        if other.share > estimate.share + CLEAR * max(estimate.error, other.error):
            fit, estimate = weighted, other
    found = _described(estimate, near, len(labelled), len(pool), shares)
    interval = (found.interval[0], max(found.interval[1], highest))
    return replace(found, interval=interval), fit


def _cross_fit(family: str) -> FitRows:
    fit_rows = score_family(family).fit_rows
    if fit_rows is None:
        raise OptionError(
            f"The useful share needs a cross-fitted score; '{family}' is none. Use 'combined'."
        )
    return fit_rows


def _typical_class_shares(labelled: Array, labels: Codes, pool: Array, fit: Fit) -> Array:
    """Class shares among the pool images that score as high as 95 % of the labelled ones.

    The threshold is low on purpose: a class that is more common in the pool than among the labelled
    images scores too low, since it helps to recognise the pool. The threshold still leaves out most
    near foreign images. A k-NN threshold on raw features does not, and they distort the shares.
    """
    is_typical = fit.pool >= typical_threshold(fit.labelled, TYPICAL)
    sizes = np.unique(labels, return_counts=True)[1]
    chances = class_probabilities(labelled, labels, pool[is_typical])
    return class_shares(chances, sizes / sizes.sum())


def _importance(labels: Codes, shares: Array) -> Array:
    codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    ratios = shares / (sizes / sizes.sum())
    # Limited: a few images must not represent a large part of the pool, and none has weight 0.
    return np.asarray(np.clip(ratios, LEAST_CLASS_WEIGHT, MOST_CLASS_WEIGHT)[codes])


def _described(
    estimate: MixtureShare, near: float | None, n: int, m: int, shares: Array | None
) -> UsefulShare:
    # The second term is the effect of one labelled and one pool image: a lower limit of the error.
    margin = WIDTH * float(np.hypot(estimate.error, estimate.share / n + 1 / m))
    low = max(0.0, min(estimate.share - margin, estimate.least - margin / 2))
    low = low if near is None else without_near_foreign(low, near)
    high = min(1.0, estimate.share + margin)
    note = _note(near, n, m)
    if n < FEWEST_LABELLED or m < FEWEST_POOL:
        low, high = 0.0, 1.0
    return UsefulShare(
        estimate.share,
        (low, high),
        note == "",
        note,
        near,
        None if shares is None else tuple(float(share) for share in shares),
    )


def _note(near: float | None, n: int, m: int) -> str:
    if n < FEWEST_LABELLED or m < FEWEST_POOL:
        return (
            f"{counted(n, 'labelled image')} and {counted(m, 'pool image')} are too few for an "
            f"estimate (wanted: {FEWEST_LABELLED} and {FEWEST_POOL})."
        )
    if near is None:
        return (
            "Not tested for near foreign classes: the test needs labels of three classes or more, "
            "with two images or more of each."
        )
    if near < TRUSTED_AUROC:
        return (
            "Foreign images that are as similar as the labelled classes are to each other would "
            f"partly count as useful: they are found with AUROC {near:.2f} only."
        )
    return ""
