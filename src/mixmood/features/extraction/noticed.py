"""What decoding noticed about the images of a pool, in words for a warning."""

from collections.abc import Iterator

from mixmood.core.words import either_form
from mixmood.data.decoding.pixel_range import PixelRange

FEW = 0.1
"""Up to this share of images that are nearly black or white is no matter of the range."""


def noticed(
    n_tried: int, n_constant: int, n_poor_range: int, pixel_range: PixelRange | None
) -> Iterator[str]:
    """One sentence for each thing noticed; none if nothing was.

    Args:
        n_tried: Images that were tried.
        n_constant: Of these, those of one value in all pixels.
        n_poor_range: Those of more than 8 bits that are nearly black or white.
        pixel_range: The range that they are scaled by; None if none was fitted.

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
