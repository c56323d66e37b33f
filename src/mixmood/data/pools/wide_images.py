"""The range that scales images of more than eight bits: the same for all sets of a comparison."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import UnreadableImageError
from mixmood.data.decoding.pixel_range import FULL, PixelRange, fitted_range
from mixmood.data.pools.pool import FeatureSource, ImageSource, Pool

N_LOOKED_AT = 8
"""Images that are read first; if none of them has more than eight bits, no others are read."""
N_FITTED = 64
"""Images on which a range is fitted."""
N_PIXELS = 4096
"""About so many pixels of each image are used."""


def fit_pixel_range(labelled: Pool) -> PixelRange | None:
    """The range of the labelled images of more than eight bits; None if they have eight.

    Without it, 12-bit scans in 16-bit files would be black: their largest value is a sixteenth of
    the largest that 16 bits can hold. The range is fitted on 64 images, evenly spaced over the
    set, with about 4,096 pixels of each.
    """
    if isinstance(labelled, FeatureSource):
        return None
    first = _samples(labelled, N_LOOKED_AT)
    return fitted_range(np.concatenate(_samples(labelled, N_FITTED))) if first else None


def scaled_alike(
    labelled: Pool, pools: Mapping[str, Pool]
) -> tuple[Pool, dict[str, Pool], PixelRange | None]:
    """The labelled set and the pools, scaled by the range of the labelled set, and that range."""
    pixel_range = fit_pixel_range(labelled)

    def scaled(pool: Pool) -> Pool:
        return pool.scaled_by(pixel_range) if isinstance(pool, ImageSource) else pool

    if pixel_range is None:
        return labelled, dict(pools), None
    return scaled(labelled), {name: scaled(pool) for name, pool in pools.items()}, pixel_range


def poor_range(source: ImageSource) -> tuple[int, int]:
    """The number of images tried, and how many of them become nearly black or white.

    The images are evenly spaced over the pool, as for fitting a range.
    """
    fitted = source.pixel_range or FULL
    if not _samples(source, N_LOOKED_AT):
        return 0, 0
    n_poor = sum(not fitted.fits(values) for values in _samples(source, N_FITTED))
    return len(_places(source, N_FITTED)), n_poor


def _places(source: ImageSource, n_images: int) -> list[int]:
    places = np.linspace(0, len(source) - 1, min(n_images, len(source))).astype(int)
    return [int(place) for place in places]


def _samples(source: ImageSource, n_images: int) -> list[NDArray[Any]]:
    """Some pixels of each image of more than eight bits among evenly spaced ones."""
    found = []
    for index in _places(source, n_images):
        try:
            values = source.wide_values(index)
        except UnreadableImageError:
            continue
        if values is not None and np.isfinite(values).all():
            found.append(values.ravel()[:: max(1, values.size // N_PIXELS)])
    return found
