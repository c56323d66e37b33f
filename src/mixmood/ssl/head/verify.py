"""A check, before a model file is written, that it gives the results of the head in memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Rows
from mixmood.core.errors import OutputError
from mixmood.data.images.pool import ImageSource
from mixmood.heads.linear import LinearHead
from mixmood.ssl.head.graph import FEATURES, PROBABILITIES, TYPICALITY
from mixmood.ssl.head.task import HeadTask
from mixmood.ssl.head.typicality import Typicality

N_CHECKED, TOLERANCE = 16, 1e-3


def check_model(
    model: bytes, takes: str, task: HeadTask, head: LinearHead, typicality: Typicality
) -> None:
    """Refuse a file that gives other results than the head on a few labelled images."""
    from mixmood.features.backbones.onnx_network import open_session

    features = task.labelled.features[:N_CHECKED]
    given: dict[str, Any] = {FEATURES: np.asarray(features, np.float32)}
    if takes != FEATURES and task.backbone and isinstance(task.labelled.pool, ImageSource):
        rows = task.labelled.rows[:N_CHECKED]
        given = {takes: _pictures(task.labelled.pool, rows, task.backbone.resolution)}
    try:
        found, typical = open_session(model).run([PROBABILITIES, TYPICALITY], given)
    except Exception as error:
        # ONNX Runtime has no public base class for what it raises.
        raise OutputError(f"The model cannot be run by ONNX Runtime: {error}.") from error
    probability_error = float(np.abs(found - head.predict_proba(features)).max())
    typicality_error = float(np.abs(typical[:, 0] - typicality(features)).max())
    if not max(probability_error, typicality_error) <= TOLERANCE:
        raise OutputError(
            f"The model file gives other results than the head in memory: probabilities differ by "
            f"{probability_error:.2g}, typicality by {typicality_error:.2g}. Report this, with the "
            "name of the backbone."
        )


def _pictures(pool: ImageSource, rows: Rows, side: int) -> NDArray[np.uint8]:
    from mixmood.ssl.pools import pictures_at

    read = pictures_at(pool, rows.tolist(), (side, side))
    return np.stack([np.asarray(picture) for picture, _ in read])
