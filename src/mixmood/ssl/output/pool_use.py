"""Warnings about what a training made of its pool."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from mixmood.ssl.output.record import TrainingRecord

LOST = 1 / 3
"""A class is called nearly lost if its share of the guesses is below this part of its share of the
labelled images. In 30 runs on digits with clean pools (presets digits and digits-labelled), all 11
with such a class ended below 82 %, all 19 others above 87 %."""
N_EXPECTED = 20
"""At least this many guesses of the class must be expected: fewer may be missing by chance."""


def pool_warnings(record: TrainingRecord, codes: ArrayLike) -> Iterator[str]:
    """What the user should know of the pool's part in a training.

    Args:
        record: The record of the training.
        codes: The classes of the labelled images, as numbers from 0.
    """
    if all(epoch.share_sure == 0 for epoch in record.epochs):
        threshold = record.configuration["settings"].get("threshold")
        yield (
            f"No guess reached the threshold of {threshold:g} in the whole run: the pool was not "
            "used. Train longer, or set a lower threshold."
        )
    lost = nearly_lost_class(record, codes)
    if lost is not None:
        name, guessed, labelled = lost
        yield (
            f"The guesses for the pool have nearly lost the class '{name}': {guessed:.0%} of them, "
            f"where {labelled:.0%} of the labelled images have it. Unless the pool is so, the "
            "model is worse than one without a pool: compare with --algorithm supervised."
        )


def nearly_lost_class(record: TrainingRecord, codes: ArrayLike) -> tuple[str, float, float] | None:
    """The class that the last guesses lack most, its share of guesses and of labelled images."""
    guessed = record.epochs[-1].pseudo_label_shares
    if guessed is None:
        return None
    before = record.epochs[-2].n_updates if len(record.epochs) > 1 else 0
    n_guesses = (record.epochs[-1].n_updates - before) * record.configuration["batch_size"]
    counts = np.bincount(np.asarray(codes), minlength=len(guessed))
    labelled = counts / counts.sum()
    part = np.divide(guessed, labelled, out=np.full(len(guessed), np.inf), where=labelled > 0)
    rarest = int(part.argmin())
    if part[rarest] >= LOST or labelled[rarest] * n_guesses < N_EXPECTED:
        return None
    return record.class_names[rarest], float(guessed[rarest]), float(labelled[rarest])
