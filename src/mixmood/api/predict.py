"""`mixmood.predict`: the class of every image of a pool; torch is not needed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.errors import InputError
from mixmood.core.progress import Progress, Silent
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import ImageSource
from mixmood.ssl.input.pictures import left_out
from mixmood.ssl.output.predict import Classifier, Predictions, classified


def predict(
    model: str | Path,
    images: Any,
    *,
    progress: Progress | None = None,
    notify: Callable[[str], None] = lambda message: None,
) -> Predictions:
    """The class of every readable image of a pool.

    Args:
        model: The folder of a finished run, or its `model.onnx`.
        images: Anything that `rank` takes as a pool of images.
        progress: Called after every batch of images.
        notify: Called with each warning.
    """
    classifier = Classifier(model)
    source = open_pool(images)
    if not isinstance(source, ImageSource):
        raise InputError(f"{source.name} holds features; images are needed to classify.")
    kept: list[int] = []
    parts = list(classified(classifier, source, kept, progress or Silent()))
    if not kept:
        raise InputError(f"{source.name} has no readable image among {len(source)}.")
    rows = np.array(kept)
    gone = np.setdiff1d(np.arange(len(source)), rows).tolist()
    unreadable = tuple(map(source.locate, gone))
    if unreadable:
        notify(left_out(source.name, unreadable))
    order = np.argsort(rows)
    return Predictions(
        tuple(map(source.locate, rows[order].tolist())),
        np.concatenate(parts)[order],
        classifier.class_names,
        unreadable,
    )
