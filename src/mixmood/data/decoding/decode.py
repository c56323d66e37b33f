"""Any stored image -> RGB, eight bits a channel."""

import io
import threading
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from mixmood.core.arrays import Picture
from mixmood.core.errors import UnreadableImageError, reason
from mixmood.data.decoding.jpeg import decode_plain_jpeg
from mixmood.data.pools.pool import Raw

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "TIFF", "PPM", "ICO")
"""The only ones of Pillow's parsers that a file can reach; EPS would start another program."""

MAX_PIXELS = 175_000_000
"""No image may have more, as its header tells: a little below where Pillow itself refuses. Draft
mode is not counted in its favour, because a progressive JPEG keeps all of its coefficients in
memory whatever size is asked for."""

DRAFT = 2
"""A JPEG may be decoded at a half, a quarter or an eighth as long as its smaller side stays so many
times as long as the side wanted."""


def decode(raw: Raw, where: str, side: int | None = None) -> Picture:
    """The image as RGB uint8, shape (height, width, 3).

    Grey and 1-bit images are repeated over the channels, transparent ones laid on white, 16 bits
    scaled to 8, floats in 0..1 to 0..255, EXIF orientation applied; of an animation the first
    frame comes. Anything that cannot be read so is an UnreadableImageError that names `where`.

    Args:
        raw: The bytes of a file, an array of pixels or a Pillow image.
        where: What to call the image in a message.
        side: Tells that the caller shrinks the picture to side x side: a large JPEG may then
            come smaller, never below twice that side.
    """
    try:
        with QUIET:
            if isinstance(raw, np.ndarray):
                return _from_array(raw)
            if (pixels := _plain_jpeg(raw, side)) is not None:
                return pixels
            return np.array(_rgb_image(raw, side))
    except Exception as error:
        raise _unreadable(where, error) from error


def decode_square(raw: Raw, where: str, side: int) -> Picture:
    """The whole image as RGB uint8, shape (side, side, 3), its aspect ratio given up.

    Pillow's bilinear filter widens with the reduction, so shrinking averages over all pixels.
    Everything else is as in `decode`.
    """
    try:
        with QUIET:
            return _square(raw, side)
    except Exception as error:
        raise _unreadable(where, error) from error


def _square(raw: Raw, side: int) -> Picture:
    if isinstance(raw, np.ndarray):
        pixels = _from_array(raw)
        if pixels.shape[:2] == (side, side):
            return pixels
        image = Image.fromarray(pixels)
    elif (plain := _plain_jpeg(raw, side)) is not None:
        image = Image.fromarray(plain)
    else:
        image = _rgb_image(raw, side)
    data = image.resize((side, side), Image.Resampling.BILINEAR).tobytes()
    return np.frombuffer(data, np.uint8).reshape(side, side, 3)


def _plain_jpeg(raw: bytes | Image.Image, side: int | None) -> Picture | None:
    if not isinstance(raw, bytes):
        return None
    # From twice the size of a draft on, Pillow would decode it reduced.
    return decode_plain_jpeg(raw, MAX_PIXELS, None if side is None else 2 * DRAFT * side)


def _unreadable(where: str, error: Exception) -> UnreadableImageError:
    # Pillow's parsers raise nearly anything on hostile bytes: struct.error, SyntaxError,
    # zlib.error, OverflowError, MemoryError, IndexError ... none may end a whole ranking.
    return UnreadableImageError(f"{where}: cannot be decoded: {reason(error)}.")


def _rgb_image(raw: bytes | Image.Image, side: int | None) -> Image.Image:
    if isinstance(raw, Image.Image):
        return _to_rgb_image(raw)
    if not raw:
        raise ValueError("the file is empty")
    try:
        image = Image.open(io.BytesIO(raw), formats=FORMATS)
    except UnidentifiedImageError:
        raise ValueError(f"not an image of a known format ({', '.join(FORMATS)})") from None
    with image:
        _check_size(image)
        if side is not None and min(image.size) > DRAFT * side:
            # Only JPEG does anything here, and never goes below the size asked for.
            image.draft(None, (DRAFT * side, DRAFT * side))
        return _to_rgb_image(image)


def _to_rgb_image(image: Image.Image) -> Image.Image:
    _check_size(image)
    image.load()
    # Both steps would copy the image where there is nothing to do.
    if (exif := image.getexif()) and exif.get(ExifTags.Base.Orientation, 1) != 1:
        image = ImageOps.exif_transpose(image)
    if image.mode == "RGB" and not image.has_transparency_data:
        return image
    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray(_from_array(_wide_grey(image)))
    if image.mode in ("La", "RGBa"):
        image = image.convert({"La": "LA", "RGBa": "RGBA"}[image.mode])
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")


def _check_size(image: Image.Image) -> None:
    width, height = image.size
    if width < 1 or height < 1:
        raise ValueError(f"it has no pixels ({width} x {height})")
    if width * height > MAX_PIXELS:
        raise ValueError(
            f"{width} x {height} pixels are more than the {MAX_PIXELS} an image may have"
        )


def _wide_grey(image: Image.Image) -> NDArray[Any]:
    """Grey values of more than eight bits: uint16, or float in 0..1."""
    values = np.asarray(image)
    if image.mode == "I":
        # Pillow widens some 16-bit files to 32-bit integers, and true 32-bit ones look the same.
        if values.min() < 0 or values.max() > 65_535:
            raise ValueError("its 32-bit values are outside 0..65535")
        return values.astype(np.uint16)
    return values


def _from_array(pixels: NDArray[Any]) -> Picture:
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 2, 3, 4)):
        raise ValueError(
            f"pixels must be (height, width) or (height, width, 1 to 4 channels), "
            f"got shape {pixels.shape}"
        )
    if pixels.size == 0:
        raise ValueError(f"it has no pixels (shape {pixels.shape})")
    if pixels.shape[0] * pixels.shape[1] > MAX_PIXELS:
        raise ValueError(f"shape {pixels.shape} is more than {MAX_PIXELS} pixels")
    return _to_rgb(to_eight_bits(pixels))


def to_eight_bits(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels of any kind taken, as uint8; ValueError for other kinds and for floats beyond 0..1.

    >>> to_eight_bits(np.array([0, 257, 65535], dtype=np.uint16)).tolist()
    [0, 1, 255]
    >>> to_eight_bits(np.array([0.0, 0.5, 1.0])).tolist()
    [0, 128, 255]
    """
    kind = values.dtype.kind
    if values.dtype == np.uint8:
        return values.astype(np.uint8, copy=False)
    if kind == "b":
        return values.astype(np.uint8) * np.uint8(255)
    if kind == "u" and values.dtype.itemsize == 2:
        return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)
    if kind == "f":
        check_unit_range(values)
        return (values * 255 + 0.5).astype(np.uint8)
    raise ValueError(
        f"pixels must be uint8, uint16, bool or float in 0..1, got {values.dtype}; "
        "convert them, for instance with .astype(np.uint8)"
    )


def check_unit_range(values: NDArray[Any]) -> None:
    """Refuse float pixels that are not finite or not in 0..1, with a ValueError."""
    low, high = values.min(), values.max()
    # Both comparisons are false for NaN, which min and max hand on.
    if not (low >= 0 and high <= 1):
        raise ValueError(
            f"float pixels must be finite and in 0..1, got {low:g} to {high:g}; "
            "divide by the largest possible value, or convert to uint8"
        )


def _to_rgb(pixels: NDArray[np.uint8]) -> Picture:
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    channels = pixels.shape[2]
    if channels in (2, 4):
        alpha = pixels[:, :, -1:].astype(np.uint32)
        colour = pixels[:, :, :-1].astype(np.uint32)
        pixels = ((colour * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    return np.ascontiguousarray(pixels)


class _Quiet:
    """Silences Pillow's warnings while any thread decodes.

    `warnings.catch_warnings` alone is not safe here: two threads leaving it in the wrong order
    would leave the filters of the whole process changed. The first one in sets the filter, the
    last one out restores; only warnings raised inside PIL are touched. Setting the filter takes as
    long as opening a small image, so whoever decodes many stays inside meanwhile.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._saved: warnings.catch_warnings[None] | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._saved = warnings.catch_warnings()
                self._saved.__enter__()
                warnings.filterwarnings("ignore", module=r"PIL(\.|$)")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._saved is not None:
                self._saved.__exit__(None, None, None)
                self._saved = None


QUIET = _Quiet()
