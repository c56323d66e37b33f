"""What a gain is worth in labels, read from the supervised head's own learning curve."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from mixmood.core.arrays import Array, Codes
from mixmood.heads.evaluation.cross_validation import all_logits
from mixmood.heads.registry import HEADS
from mixmood.numerics.folds import training_weights
from mixmood.ranking.probe.measure import LabelledFolds

SHARES = (0.25, 0.4, 0.63, 1.0)
"""Parts of the training labels at which the curve is taken."""
CLEAR = 2.0
"""Standard errors by which the curve must rise to be read."""
FLATTER = 0.85
"""Curves flatten: the part of the measured slope by which they rise beyond the present labels."""
USUAL_SLOPE, USUAL_SPREAD = 0.25, 2.3
"""The usual slope, as a share of the points that are wrong, and by how much slopes differ from it.

On development tasks (60 labels; what 60 more really gain) the measured slope alone was twice too
steep where it was clear, and 14 of 24 were not.
"""
FARTHEST = 3.0
"""How many times the present labels the curve is read to."""
QUANTILES = ndtri((np.arange(40) + 0.5) / 40)
"""Forty equally probable values of a standard normal variable."""


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

    def worth(self, points: float) -> int | None:
        """How many more labels give as many points; None where the curve cannot say.

        >>> LearningCurve(10.0, 1.0, 60).worth(4.1), LearningCurve(10.0, 9.0, 60).worth(4.1)
        (30, None)
        """
        return self._labels(points, self.slope) if self.is_clear else None

    def worth_interval(self, points: float, error: float) -> tuple[int, int | None]:
        """The 95 % interval of the worth of a gain with a standard error; None is open above.

        Gain and slope are both uncertain: every pair of their quantiles is as probable.

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

    Every fold's training rows are thinned, class by class, to a few shares; the images that are
    held out stay the same. The error of the slope comes from these images. A few dozen images
    measure a slope badly: it is joined with the usual slope of as many wrong images. Labels that
    cannot be learnt have no curve.
    """
    if not labelled.is_learnable:
        return LearningCurve(0.0, float("inf"), len(labelled.codes))
    weights, held_out = training_weights(labelled.folds[:1])
    levels, thinned = [], []
    for share in SHARES:
        for who, out in zip(weights, held_out, strict=True):
            thinned.append(_thinned(who, labelled.codes, share, rng))
            levels.append((share, out))
    right = _right(labelled, np.stack(thinned), [out for _, out in levels])
    sizes = np.log(np.array([row.sum() for row in thinned]))
    by_share = sizes.reshape(len(SHARES), -1).mean(axis=1)
    table = right.reshape(len(SHARES), -1, right.shape[1])
    # Each image is held out once at each share: its own line, then the mean over images.
    hits = np.nansum(table, axis=1) * 100.0
    is_seen = np.isfinite(table).any(axis=(0, 1))
    off = by_share - by_share.mean()
    slopes = (off[:, None] * hits[:, is_seen]).sum(axis=0) / (off**2).sum()
    n = len(slopes)
    error = float(slopes.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
    usual = USUAL_SLOPE * 100 * (1 - labelled.accuracy)
    return _joined(FLATTER * float(slopes.mean()), error, usual, len(labelled.codes))


def _joined(slope: float, error: float, usual: float, n_labels: int) -> LearningCurve:
    """The measured slope and the usual one, each weighted by how exact it is."""
    # Never surer than the usual spread: held-out images that are all right show no slope.
    own = 1 / max(error, USUAL_SPREAD / 2) ** 2
    other = 1 / USUAL_SPREAD**2
    mean = (own * slope + other * usual) / (own + other)
    return LearningCurve(mean, float(1 / np.sqrt(own + other)), n_labels)


def _thinned(who: Array, codes: Codes, share: float, rng: np.random.Generator) -> Array:
    """A part of the training rows; at least one of each class stays."""
    kept = np.zeros_like(who)
    for code in np.unique(codes[who > 0]):
        rows = rng.permutation(np.flatnonzero((codes == code) & (who > 0)))
        kept[rows[: max(1, round(share * len(rows)))]] = 1.0
    return kept


def _right(labelled: LabelledFolds, weights: Array, held_out: list[Array]) -> Array:
    """Whether each held-out row is classified rightly, shape (B, n); NaN for all others."""
    codes = labelled.codes
    heads = {"supervised": HEADS["supervised"].head}
    _, logits = all_logits(
        heads,
        labelled.features,
        codes,
        labelled.n_classes,
        None,
        np.asarray(weights, np.float64),
        np.random.default_rng(0),
    )
    is_right = logits["supervised"].argmax(axis=2) == codes
    found = np.full(is_right.shape, np.nan)
    for place, out in enumerate(held_out):
        found[place, out] = is_right[place, out]
    return found
