"""Building the record of a finished head."""

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.evidence.choice import BASE, Comparison, TrainedHead
from mixmood.ssl.head.task import HeadTask
from mixmood.ssl.head.typicality import Typicality
from mixmood.ssl.plan import TrainingPlan
from mixmood.ssl.record import AlgorithmGain, HeadAccuracy, HeadRecord

MOST_CONFUSION_CLASSES = 200
"""With more classes, the record has no confusion table."""


def record_of(
    task: HeadTask,
    trained: TrainedHead,
    typicality: Typicality,
    takes: str,
    plan: TrainingPlan,
) -> HeadRecord:
    """The record; time and warnings are added when the run ends."""
    names = task.labels.names
    pool = None if task.pool is None else task.pool.features
    guesses = None if pool is None else trained.head.predict(pool)
    test = None if task.test is None else trained.head.predict(task.test.features)
    estimate = trained.accuracy
    uses_pool = trained.name != BASE
    return HeadRecord(
        algorithm=trained.name,
        asked=plan.algorithm,
        reason=trained.reason,
        accuracy=HeadAccuracy(
            None if estimate is None else estimate.value,
            None if estimate is None else (estimate.low, estimate.high),
            None if test is None else float((test == task.test_codes).mean()),
        ),
        gains=tuple(map(_gain, trained.comparisons)),
        class_names=names,
        class_counts=tuple(np.bincount(task.codes, minlength=len(names)).tolist()),
        n_labelled=len(task.codes),
        n_pool=task.n_pool,
        n_unlabelled=len(pool) if pool is not None and uses_pool else 0,
        n_test=0 if task.test is None else len(task.test.features),
        n_unreadable=sum(len(read.unreadable) for read in (task.labelled, task.pool) if read),
        n_groups=None if task.groups is None else len(np.unique(task.groups)),
        backbone=None if task.backbone is None else task.backbone.describe(),
        pixel_range=None if task.pixel_range is None else task.pixel_range.describe(),
        takes=takes,
        temperature=float(trained.head.temperature),
        threshold=typicality.threshold,
        confusion=confusion(trained.logits, task.codes, len(names)),
        pool_shares=None if guesses is None else _shares(guesses, names),
        n_changed=_n_changed(trained, pool),
        seed=plan.seed,
        elapsed_s=0.0,
    )


def _gain(comparison: Comparison) -> AlgorithmGain:
    gain = comparison.gain
    return AlgorithmGain(
        comparison.name,
        100 * gain.value,
        (100 * gain.low, 100 * gain.high),
        comparison.is_clear,
    )


def confusion(
    logits: Array, codes: NDArray[np.integer], n_classes: int
) -> tuple[tuple[float, ...], ...] | None:
    """Counts of images by class (rows) and predicted class (columns), averaged over repeats.

    Images that were never held out are not counted.

    Args:
        logits: Out-of-fold logits, shape (repeats, n, k); NaN for rows that were never held out.
        codes: The class of each image, shape (n,).
        n_classes: How many classes there are.
    """
    if n_classes > MOST_CONFUSION_CLASSES:
        return None
    counts = np.zeros((n_classes, n_classes))
    for repeat in logits:
        is_held_out = np.isfinite(repeat).all(axis=1)
        predicted = repeat[is_held_out].argmax(axis=1)
        np.add.at(counts, (codes[is_held_out], predicted), 1 / len(logits))
    return tuple(tuple(row) for row in counts.round(6).tolist())


def _shares(guesses: NDArray[np.intp], names: tuple[str, ...]) -> dict[str, float]:
    counts = np.bincount(guesses, minlength=len(names)) / max(1, len(guesses))
    return dict(zip(names, counts.tolist(), strict=True))


def _n_changed(trained: TrainedHead, pool: Array | None) -> int | None:
    if pool is None or BASE not in trained.others:
        return None
    base = trained.others[BASE].predict(pool)
    return int((base != trained.head.predict(pool)).sum())
