"""From a picture of any shape to the square a backbone takes."""

import numpy as np
from PIL import Image

from mixmood.core.arrays import Picture

PREPROCESSING = "pillow-bilinear-square"
"""Whole image, aspect ratio given up, antialiased bilinear: part of every cache key."""


def square(picture: Picture, side: int) -> Picture:
    """The whole picture at (side, side), its aspect ratio given up so that nothing is cut off.

    Pillow's bilinear filter widens with the reduction, so shrinking averages over all pixels.
    """
    if picture.shape[:2] == (side, side):
        return picture
    resized = Image.fromarray(picture).resize((side, side), Image.Resampling.BILINEAR)
    return np.asarray(resized)
