"""Warnings about images that are constant, or nearly black or white."""

from collections.abc import Iterator

from mixmood.core.words import either_form
from mixmood.data.decoding.pixel_range import PixelRange

FEW = 0.1
"""Up to this share of nearly black or white images, there is no warning about the range."""


def noticed(
    n_tried: int, n_constant: int, n_poor_range: int, pixel_range: PixelRange | None
) -> Iterator[str]:
    """One sentence for each warning; none if there is nothing to warn about.

    Args:
        n_tried: Images that were tried.
        n_constant: How many of these have one value in all pixels.
        n_poor_range: How many of more than 8 bits are nearly black or white.
        pixel_range: The range by which they are scaled; None if none was fitted.

    >>> list(noticed(9, 2, 0, None))
    ['2 of 9 images tried have one value in all pixels: look at them, or leave them out.']
    """
    if n_constant:
        have, them = either_form(n_constant, "has", "have"), either_form(n_constant, "it", "them")
        yield (
            f"{n_constant} of {n_tried} images tried {have} one value in all pixels: look at "
            f"{them}, or leave {them} out."
        )
    if n_poor_range > FEW * n_tried:
        scaled_by = (
            "as read: the labelled images have 8 bits, so that 65535 is white. Bring the pool to "
            "8 bits"
            if pixel_range is None
            else "by the range of the labelled images. Bring the pool to the same range of values"
        )
        yield (
            f"{n_poor_range} of {n_tried} images tried, of more than 8 bits, "
            f"{either_form(n_poor_range, 'is', 'are')} nearly black or white {scaled_by}."
        )
