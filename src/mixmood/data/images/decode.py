"""How any stored image becomes RGB with eight bits a channel, and how it becomes a thumbnail."""

import io
import logging
import threading
import warnings
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from mixmood.core.arrays import Picture
from mixmood.core.errors import UnreadableImageError, errors_as
from mixmood.data.images.dicom import MAX_PIXELS, is_dicom, read_frame
from mixmood.data.images.pixel_range import FULL, PixelRange

HEIC = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx")
CONVERT_HEIC = "convert it first, for instance with: magick mogrify -format jpg *.heic"


def check_brand(raw: bytes) -> None:
    """Give Pillow's AVIF decoder one thread, since ours use all cores; ValueError for a HEIC file.

    >>> check_brand(b"\\0\\0\\0\\x1cftypheic")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: it is a HEIC image; convert it first, for instance with: magick mogrify ...
    """
    if raw[4:8] != b"ftyp":
        return
    if raw[8:12] in HEIC:
        raise ValueError(f"it is a HEIC image; {CONVERT_HEIC}")
    from PIL import AvifImagePlugin

    AvifImagePlugin.DEFAULT_MAX_THREADS = 1


DICOM_LOG = logging.getLogger("pydicom")


class _Quiet:
    """Silences Pillow's and pydicom's warnings while any thread decodes.

    `warnings.catch_warnings` is not thread-safe: here the first thread that enters sets the filter,
    the last that leaves restores it. Messages of pydicom quote headers, which contain names of
    patients. Setting the filter takes as long as opening a small image: to decode many, enter once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._saved = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            self._n_inside += 1
            if self._n_inside == 1:
                self._saved = warnings.catch_warnings()  # none can be entered twice
                self._saved.__enter__()
                warnings.filterwarnings("ignore", module=r"(PIL|pydicom)(\.|$)")
                DICOM_LOG.disabled = True

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                DICOM_LOG.disabled = False
                self._saved.__exit__(None, None, None)


QUIET = _Quiet()

Raw = bytes | NDArray[Any] | Image.Image  # an image as its pool stores it

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "TIFF", "PPM", "ICO", "AVIF")
"""The only formats that Pillow may try; EPS, for example, would start another program. Simplejpeg
was left out: 0.02 instead of 0.07 ms for a small JPEG, and the network takes 2 to 3 ms an image."""

DRAFT = 2  # the smaller side of a JPEG decoded at reduced size is at least DRAFT times that wanted


def decode(
    raw: Raw, where: str, side: int | None = None, pixel_range: PixelRange | None = None
) -> Picture:
    """The image as RGB uint8, shape (height, width, 3); UnreadableImageError, naming `where`.

    Grey and 1-bit values are repeated over the channels. Transparent images are laid on white.
    Values of more than 8 bits are scaled by `pixel_range`, by default 0 to 65535, and floats from
    0..1 to 0..255. EXIF orientation is applied. Of an animation the first frame is returned. A
    large JPEG may be decoded at reduced size, never below twice the `side` to shrink it to.
    """
    with QUIET, errors_as(UnreadableImageError, f"{where}: cannot be decoded"):
        return _decoded(raw, side, pixel_range, {})


def decode_squares(
    raw: Raw, where: str, sides: Sequence[int], pixel_range: PixelRange | None = None
) -> list[Picture]:
    """The whole image as RGB uint8, without its aspect ratio, at each of the sides, which ascend.

    Pillow's bilinear filter becomes wider with the reduction: shrinking averages over all pixels.
    Otherwise as `decode`, once; but a large JPEG at the reduced size that each side alone would
    have, so that a square does not depend on the other sides.
    """
    with QUIET, errors_as(UnreadableImageError, f"{where}: cannot be decoded"):
        known: dict[tuple[int, int] | None, Picture] = {}
        squares = []
        for side in sides:
            pixels = _decoded(raw, side, pixel_range, known)
            if pixels.shape[:2] != (side, side):
                image = Image.fromarray(pixels).resize((side, side), Image.Resampling.BILINEAR)
                pixels = np.asarray(image)
            squares.append(pixels)
        return squares


def wide_values(raw: Raw, where: str) -> NDArray[Any] | None:
    """The values of an image of more than eight bits as stored; None for any other image."""
    with QUIET, errors_as(UnreadableImageError, f"{where}: cannot be decoded"):
        if isinstance(raw, np.ndarray):
            return raw if raw.dtype == np.uint16 else None
        if is_dicom(raw):
            frame = read_frame(raw)
            return frame.values if frame.is_wide else None
        if isinstance(raw, bytes) and not _may_be_wide(raw):
            return None
        image = raw if isinstance(raw, Image.Image) else _opened(raw)
        values = np.asarray(image) if _is_wide(image) else None
        return None if values is None or _is_unit(values) else values


def _decoded(
    raw: Raw,
    side: int | None,
    pixel_range: PixelRange | None,
    known: dict[tuple[int, int] | None, Picture],
) -> Picture:
    """The image for a side; `known` holds what was decoded of it for other sides, by its size."""
    if not isinstance(raw, bytes) or is_dicom(raw):
        return known[None] if None in known else known.setdefault(None, _pixels(raw, pixel_range))
    with _opened(raw) as image:
        if side is not None and min(image.size) > DRAFT * side:
            # Only JPEG has an effect here, and never goes below the size asked for.
            image.draft(None, (DRAFT * side, DRAFT * side))
        size = image.size
        if size not in known:
            known[size] = _pixels(image, pixel_range)
        return known[size]


def _pixels(raw: Raw, pixel_range: PixelRange | None) -> Picture:
    if isinstance(raw, np.ndarray):
        return _from_array(raw, pixel_range)
    if isinstance(raw, bytes):
        return read_frame(raw).picture(pixel_range)
    return np.array(_to_rgb_image(raw, pixel_range))


def _opened(raw: bytes) -> Image.Image:
    if not raw:
        raise ValueError("the file is empty")
    check_brand(raw)
    try:
        image = Image.open(io.BytesIO(raw), formats=FORMATS)
    except UnidentifiedImageError:
        raise ValueError(f"not an image of a known format ({', '.join(FORMATS)})") from None
    _check_size(image)
    return image


def _to_rgb_image(image: Image.Image, pixel_range: PixelRange | None) -> Image.Image:
    _check_size(image)
    image.load()
    # Both steps are skipped if they would only copy the image.
    if (exif := image.getexif()) and exif.get(ExifTags.Base.Orientation, 1) != 1:
        image = ImageOps.exif_transpose(image)
    if image.mode == "RGB" and not image.has_transparency_data:
        return image
    if _is_wide(image):
        return Image.fromarray(_from_array(_wide_grey(image, pixel_range), pixel_range))
    if image.mode in ("La", "RGBa"):
        image = image.convert({"La": "LA", "RGBa": "RGBA"}[image.mode])
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")


def _check_size(image: Image.Image) -> None:
    size = f"{image.width} x {image.height}"
    if min(image.size) < 1:
        raise ValueError(f"it has no pixels ({size})")
    if image.width * image.height > MAX_PIXELS:
        raise ValueError(f"{size} pixels are more than the {MAX_PIXELS} an image may have")


def _may_be_wide(raw: bytes) -> bool:
    """Whether an image may have more than eight bits, by its first bytes, without Pillow."""
    if raw.startswith(b"\x89PNG"):
        return raw[24:25] == b"\x10"
    return raw.startswith((b"II", b"MM", b"P2", b"P5", b"Pf", b"PF"))


def _is_wide(image: Image.Image) -> bool:
    return image.mode.startswith("I") or image.mode == "F"


def _is_unit(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" and bool(values.min() >= 0 and values.max() <= 1)


def _wide_grey(image: Image.Image, pixel_range: PixelRange | None) -> NDArray[Any]:
    """Grey values of more than eight bits: uint8 by the range, uint16, or float in 0..1."""
    values = np.asarray(image)
    if pixel_range is not None and not _is_unit(values):
        if not np.isfinite(values).all():
            raise ValueError("its values are not finite")
        return pixel_range.apply(values)
    if image.mode == "I":
        # Pillow reads some 16-bit files as 32-bit integers, just like files of 32 bits.
        if values.min() < 0 or values.max() > 65_535:
            raise ValueError("its 32-bit values are outside 0..65535")
        return values.astype(np.uint16)
    return values


def _from_array(pixels: NDArray[Any], pixel_range: PixelRange | None = None) -> Picture:
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 2, 3, 4)):
        raise ValueError(
            f"pixels must be (height, width) or (height, width, 1 to 4 channels), "
            f"got shape {pixels.shape}"
        )
    if pixels.size == 0:
        raise ValueError(f"it has no pixels (shape {pixels.shape})")
    if pixels.shape[0] * pixels.shape[1] > MAX_PIXELS:
        raise ValueError(f"shape {pixels.shape} is more than {MAX_PIXELS} pixels")
    grey_or_colour = to_eight_bits(pixels, pixel_range)
    if pixels.ndim == 3 and pixels.shape[2] in (2, 4):  # with transparency
        return np.array(_to_rgb_image(Image.fromarray(grey_or_colour), None))
    if pixels.ndim == 2 or pixels.shape[2] == 1:
        return np.repeat(grey_or_colour.reshape(*pixels.shape[:2], 1), 3, axis=2)
    return np.ascontiguousarray(grey_or_colour)


def to_eight_bits(values: NDArray[Any], pixel_range: PixelRange | None = None) -> NDArray[np.uint8]:
    """Pixels as uint8; ValueError for types that are not supported and floats outside 0..1.

    >>> to_eight_bits(np.array([0, 257, 65535], dtype=np.uint16)).tolist()
    [0, 1, 255]
    >>> to_eight_bits(np.array([0.0, 0.5, 1.0])).tolist()
    [0, 128, 255]
    """
    if values.dtype == np.uint8:
        return values.astype(np.uint8, copy=False)
    if values.dtype.kind == "b":
        return values.astype(np.uint8) * np.uint8(255)
    if values.dtype.kind == "u" and values.dtype.itemsize == 2:
        if pixel_range is not None and pixel_range != FULL:
            return pixel_range.apply(values)
        return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)
    if values.dtype.kind == "f":
        check_unit_range(values)
        return (values * 255 + 0.5).astype(np.uint8)
    raise ValueError(
        f"pixels must be uint8, uint16, bool or float in 0..1, got {values.dtype}; "
        "convert them, for instance with .astype(np.uint8)"
    )


def check_unit_range(values: NDArray[Any]) -> None:
    """Refuse float pixels that are not finite or not in 0..1, with a ValueError."""
    low, high = values.min(), values.max()
    # With a NaN, min and max are NaN and both comparisons are false.
    if not (low >= 0 and high <= 1):
        raise ValueError(
            f"float pixels must be finite and in 0..1, got {low:g} to {high:g}; "
            "divide by the largest possible value, or convert to uint8"
        )


THUMBNAIL_SIDE = 64


def thumbnail(picture: Picture, side: int = THUMBNAIL_SIDE) -> str:
    """The picture as a data URI, at most `side` pixels high and wide: WebP, for 64 0.3 to 3 kB."""
    return _data_uri(picture, side, "webp", quality=75, method=4)


def jpeg_uri(picture: Picture) -> str:
    """The picture as a data URI of JPEG, at most 1,024 pixels high and wide, to look at closely."""
    return _data_uri(picture, 1024, "jpeg", quality=88)


def _data_uri(picture: Picture, side: int, form: str, **how: int) -> str:
    image = Image.fromarray(picture)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, form, **how)
    return f"data:image/{form};base64,{b64encode(file.getvalue()).decode()}"


COMPARED_SIDE, SAME_PICTURE = 32, 0.992
"""Side of the pictures that are compared, and the correlation from which on they are the same.

Of 25,000 pairs of near development images only one, a copy, is above 0.991. Photographs stored
again with JPEG quality 40, or at half the size, are above 0.996."""


def is_same_picture(one: Picture, other: Picture) -> bool:
    """Whether two pictures differ at most in size and encoding."""
    rows = []
    for picture in (one, other):
        size = (COMPARED_SIDE, COMPARED_SIDE)
        values = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BOX), float)
        rows.append(values - values.mean())
    sizes = [float(np.sqrt((row * row).sum())) for row in rows]
    if min(sizes) == 0:  # a picture of one colour has no features to compare
        return False
    return float((rows[0] * rows[1]).sum()) >= SAME_PICTURE * sizes[0] * sizes[1]
