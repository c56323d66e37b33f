"""The interface of every feature extractor."""

import hashlib
import json
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import OptionError, ShapeError
from mixmood.data.images.pool import ImageSource

DEFAULT_RESOLUTION = 96
SMALLEST_RESOLUTION = 64
STEP = 32
PREPROCESSING = "pillow-bilinear-square"
"""The whole image is resized to a square, bilinear with antialiasing. Part of every cache key."""


class Backbone(Protocol):
    """A network that turns square RGB images into feature vectors, from any number of threads."""

    @property
    def name(self) -> str:
        """The name that users type."""

    @property
    def fingerprint(self) -> str:
        """A hex digest of weights, preprocessing and resolution, which decide the features."""

    @property
    def width(self) -> int:
        """The number of features of an image."""

    @property
    def resolution(self) -> int:
        """The side, in pixels, of the images it takes."""

    @property
    def batch_size(self) -> int:
        """Preferred batch size."""

    @property
    def is_batch_dependent(self) -> bool:
        """Whether features depend on the other images of the batch; these are never cached."""

    def describe(self) -> dict[str, Any]:
        """The entry in a record: name, weights, resolution, width, preprocessing."""

    def embed(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Features, shape (n, width), of images, shape (n, resolution, resolution, 3)."""


class MovableBackbone(Backbone, Protocol):
    """A backbone that can compute on several devices."""

    def use_device(self, device: str) -> None:
        """Compute on this device from now on; BackboneError if it cannot be used."""


def needed_backbone(backbone: Backbone | None, pool: ImageSource) -> Backbone:
    """What embeds a pool of images; ShapeError where there is none, for features were given."""
    if backbone is None:
        raise ShapeError(
            f"{pool.name} holds images, but the labelled set holds features. Give both as images, "
            "or both as features of one backbone."
        )
    return backbone


def network_digest(backbone: Backbone) -> str:
    """A hex digest of weights, preprocessing and resolution, the same for all devices.

    Devices differ in the last bits only: a filter or head fitted on one can be used on another.
    """
    words = {k: v for k, v in backbone.describe().items() if k not in ("name", "device")}
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()


def check_resolution(
    resolution: int | None,
    default: int = DEFAULT_RESOLUTION,
    smallest: int = SMALLEST_RESOLUTION,
) -> int:
    """The side to use; OptionError if features would be poor or the network cannot take it.

    Compared with 224 pixels, the order of twelve data sets by `js` has a Spearman correlation of
    1.00 at 96 pixels, 0.99 at 64 and 0.59 at 32.
    """
    side = default if resolution is None else resolution
    if side < smallest or side % STEP:
        raise OptionError(
            f"The resolution must be a multiple of {STEP} and at least {smallest}; "
            f"got {side}. Leave it out for {default}."
        )
    return side
