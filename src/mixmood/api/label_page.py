"""The pictures of the page to label on: JPEG of any pool of images."""

from collections.abc import Iterable, Mapping

import numpy as np

from mixmood.core.errors import InputError
from mixmood.core.records.labelling import MOST_IMAGES, LabelImage
from mixmood.data.images.decode import jpeg_uri
from mixmood.data.images.pool import FeatureSource, Pool


def pictures_of(images: Iterable[LabelImage], pools: Mapping[str, Pool]) -> list[str | None]:
    """Each image as a data URI; None where it cannot be read any more.

    InputError for features, which have no pictures, and for more images than a page holds.

    Args:
        images: What is shown.
        pools: The pools by the names that the images have.
    """
    asked = list(images)
    if len(asked) > MOST_IMAGES:
        raise InputError(
            f"A page to label on holds at most {MOST_IMAGES} pictures; got {len(asked)}. "
            "Ask for fewer."
        )
    found: list[str | None] = []
    for one in asked:
        pool = pools[one.pool]
        if isinstance(pool, FeatureSource):
            raise InputError(f"{pool.name} holds features: there are no pictures to label.")
        (picture,) = pool.read([one.index])
        found.append(jpeg_uri(picture) if isinstance(picture, np.ndarray) else None)
    return found
