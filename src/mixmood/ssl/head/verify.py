"""Is the model in its file the one in memory? Asked before the file is kept."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError, OutputError
from mixmood.data.pools.pool import FeatureSource
from mixmood.heads.linear import LinearHead
from mixmood.ssl.head.embedding import Embedded
from mixmood.ssl.head.graph import FEATURES, PROBABILITIES, TYPICALITY
from mixmood.ssl.head.task import HeadTask
from mixmood.ssl.head.typicality import Typicality

CHECKED, TOLERANCE = 16, 1e-3


def check_model(
    model: bytes, takes: str, task: HeadTask, head: LinearHead, typicality: Typicality
) -> None:
    """See that the file answers as the head does, on a few labelled images."""
    from mixmood.features.backbones.onnx.network import open_session

    features = task.labelled.features[:CHECKED]
    given: dict[str, Any] = {FEATURES: np.asarray(features, np.float32)}
    if takes != FEATURES and task.backbone is not None:
        given = {takes: _pictures(task.labelled, task.backbone.resolution, len(features))}
    try:
        found, typical = open_session(model).run([PROBABILITIES, TYPICALITY], given)
    except Exception as error:
        # ONNX Runtime has no public base class for what it raises.
        raise OutputError(f"The model cannot be run by ONNX Runtime: {error}.") from error
    away = float(np.abs(found - head.predict_proba(features)).max())
    apart = float(np.abs(typical[:, 0] - typicality(features)).max())
    if not max(away, apart) <= TOLERANCE:
        raise OutputError(
            f"The model in its file answers otherwise than in memory: {away:.2g} apart in "
            f"probability, {apart:.2g} in typicality. Report this, with the backbone's name."
        )


def _pictures(labelled: Embedded, side: int, count: int) -> NDArray[np.uint8]:
    from mixmood.ssl.input.pictures import pictures_at

    if isinstance(labelled.pool, FeatureSource):
        raise InputError(f"{labelled.pool.name} holds features; images were wanted.")
    read = pictures_at(labelled.pool, labelled.rows[:count].tolist(), (side, side))
    return np.stack([np.asarray(picture) for picture, _ in read])
