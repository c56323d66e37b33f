"""Pixels of DICOM files, and the window that says which are black and white.

Headers contain names of patients: no text of a header leaves this module, not in errors either.
"""

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Picture
from mixmood.data.images.pixel_range import PixelRange

LARGEST = 1e12  # real grey values, centres and widths are smaller; arithmetic is safe
NARROWEST = 1e-9


def _windowed(values: NDArray[Any], data: Any) -> NDArray[np.uint8] | None:
    """Grey values as uint8 by a file's first table or window; None if it has no usable one.

    Formulas: DICOM PS3.3, C.11.2.1.2 (linear) and C.11.2.1.3 (others). Not by pydicom (3.0): in a
    table of more than 256 entries of 8 bits its indices wrap around, it refuses a width below 1,
    and windows beyond all modalities overflow.
    """
    x = np.asarray(values, np.float64)
    part: NDArray[np.float64]
    if data.get("VOILUTSequence"):
        item = data.VOILUTSequence[0]
        count, first, bits = (int(value) for value in item.LUTDescriptor)
        entries = item.LUTData
        if isinstance(entries, bytes):
            entries = np.frombuffer(entries, "<u2" if bits > 8 else "<u1")
        table = np.array([int(value) for value in entries], np.float64)[: count or 65_536]
        if not len(table) or not 1 <= bits <= 16:
            return None
        places = np.clip(np.rint(x) - first, 0, len(table) - 1).astype(np.int64)
        part = table[places] / (2**bits - 1)
    else:
        centre, width = (_first(data.get(word)) for word in ("WindowCenter", "WindowWidth"))
        # In this form a NaN is refused too.
        if not (abs(centre) <= LARGEST and NARROWEST <= width <= LARGEST):
            return None
        shape = str(data.get("VOILUTFunction", None))
        if shape == "SIGMOID":
            # Far from the centre the power would overflow; there the result is 0 or 1.
            part = 1 / (1 + np.exp(np.clip(-4 * (x - centre) / width, -50, 50)))
        elif shape == "LINEAR_EXACT":
            part = (x - centre) / width + 0.5
        else:
            part = (x - (centre - 0.5)) / max(width - 1, NARROWEST) + 0.5
    return np.clip(part * 255 + 0.5, 0, 255).astype(np.uint8)


def _first(value: Any) -> float:
    """The first number of an element that has none, one or several; NaN if it has none."""
    several = value if hasattr(value, "__getitem__") and not isinstance(value, str) else [value]
    return math.nan if not len(several) or several[0] in (None, "") else float(several[0])


MAX_PIXELS = 175_000_000
"""The largest number of pixels in a header, a little below the limit of Pillow itself. It also
holds for JPEGs decoded at reduced size: a progressive one needs memory for all coefficients."""
DEFLATED = b"1.2.840.10008.1.2.1.99"  # the whole file is compressed: its size is unknown
DICOM_START = 132  # the number of first bytes that show whether a file is DICOM

GREY = ("MONOCHROME1", "MONOCHROME2")
COLOURS = (
    "RGB", "PALETTE COLOR", "YBR_FULL", "YBR_FULL_422", "YBR_PARTIAL_420", "YBR_RCT", "YBR_ICT",
)  # fmt: skip
"""Those that pydicom decodes to RGB; the standard once had others, such as HSV."""


class DicomError(ValueError):
    """An error of a DICOM file; its message contains nothing of the file."""


@dataclass(frozen=True)
class Frame:
    """One frame of a DICOM file: grey values in the units of the modality, or colours as uint8."""

    values: NDArray[Any]  # shape (height, width), or (height, width, 3)
    windowed: NDArray[np.uint8] | None  # the grey values by the file's own window, if any
    full: PixelRange  # what its bits can hold, for files without a window
    is_inverted: bool  # whether small values are white (MONOCHROME1)

    @property
    def is_wide(self) -> bool:
        """Whether its grey values have more than eight bits and no window of their own."""
        return self.windowed is None and self.full.high - self.full.low > 255

    def picture(self, pixel_range: PixelRange | None) -> Picture:
        """The frame as RGB uint8, scaled by its window, else the range given, else its bits."""
        if self.values.ndim == 3:
            return np.ascontiguousarray(self.values, dtype=np.uint8)
        grey = self.windowed
        if grey is None:
            grey = (pixel_range if self.is_wide and pixel_range else self.full).apply(self.values)
        grey = 255 - grey if self.is_inverted else grey
        return np.repeat(grey[:, :, None], 3, axis=2)


def is_dicom(raw: object) -> TypeGuard[bytes]:
    """Whether it is a file that starts like DICOM: any 128 bytes, then DICM."""
    return isinstance(raw, bytes) and raw[128:DICOM_START] == b"DICM"


@contextmanager
def _unquoted() -> Iterator[None]:
    """Within, any other error becomes a DicomError that names only its class."""
    try:
        yield
    except DicomError:
        raise
    except Exception as error:  # The messages of pydicom quote values of the header.
        what = type(error).__name__
        raise DicomError(f"it is a damaged or unusual DICOM file ({what})") from None


@_unquoted()
def count_frames(raw: bytes) -> int:
    """How many frames a DICOM file has."""
    return _n_frames(_read(raw, is_header=True))


@_unquoted()
def read_frame(raw: bytes, index: int | None = None) -> Frame:
    """One frame of a DICOM file, by default the middle one; DicomError if it cannot be read."""
    data = _read(raw, is_header=False)
    from pydicom import pixels

    if "PixelData" not in data:
        raise DicomError("it is a DICOM file without pixels")
    n_frames = _n_frames(data)
    wanted = n_frames // 2 if index is None else index
    if not 0 <= wanted < n_frames:
        raise DicomError(f"it is a DICOM file of {n_frames} frames; frame {wanted} was wanted")
    n_pixels = int(data.Rows) * int(data.Columns)
    if not 0 < n_pixels <= MAX_PIXELS:
        raise DicomError(f"it has {n_pixels} pixels; 1 to {MAX_PIXELS} are allowed")
    values = _decoded(data, wanted)
    kind = str(data.PhotometricInterpretation)
    if kind == "PALETTE COLOR":
        values = pixels.apply_color_lut(values, data)
    if kind in GREY:
        if values.ndim != 2:
            raise DicomError("it is a DICOM file of grey values with several samples per pixel")
        full, grey = _full_range(data), np.asarray(pixels.apply_modality_lut(values, data))
        return Frame(grey, _windowed(grey, data), full, kind == "MONOCHROME1")
    is_rgb = values.ndim == 3 and values.shape[2] in (3, 4) and values.dtype.kind == "u"
    if kind not in COLOURS or not is_rgb:
        raise DicomError("it is a DICOM file of colours in an unknown form")
    colours, most = values[:, :, :3], np.iinfo(values.dtype).max
    colours = colours if most == 255 else PixelRange(0, most).apply(colours)
    return Frame(colours, None, PixelRange(0, 255), False)


def _read(raw: bytes, is_header: bool) -> Any:
    try:
        import pydicom
    except ImportError:
        raise DicomError(
            "it is a DICOM file, which needs packages that are not installed. "
            "Install them with: pip install 'mixmood[medical]'"
        ) from None
    if DEFLATED in raw[:4096]:
        raise DicomError("it is a deflated DICOM file; save it in another transfer syntax")
    tags: Any = ["NumberOfFrames"] if is_header else None
    return pydicom.dcmread(io.BytesIO(raw), stop_before_pixels=is_header, specific_tags=tags)


def _n_frames(data: Any) -> int:
    count = int(data.get("NumberOfFrames", None) or 1)
    if count < 1:
        raise DicomError("it is a DICOM file without frames")
    return count


def _decoded(data: Any, index: int) -> NDArray[Any]:
    """The stored values of a frame; an error of a compressed file names its transfer syntax."""
    from pydicom.pixels import get_decoder, pixel_array

    syntax = data.file_meta.TransferSyntaxUID
    if not syntax.is_compressed:
        return np.asarray(pixel_array(data, index=index))
    # The number of an unregistered UID is not shown, because it is text of the header.
    name = syntax.name if syntax.name != str(syntax) else "an unknown transfer syntax"
    why = "for which no decoder is installed"
    with suppress(NotImplementedError):
        if get_decoder(syntax).is_available:
            # Damaged, or not supported by the decoder, such as 12 bits by Pillow's JPEG.
            why = "which the installed decoders cannot read"
            with suppress(Exception):
                return np.asarray(pixel_array(data, index=index))
    raise DicomError(
        f"it is a DICOM file in {name}, {why}; install pylibjpeg with its plug-ins, or save it "
        "uncompressed"
    )


def _full_range(data: Any) -> PixelRange:
    """The range of values that the bits of a file can hold, in the units of the modality."""
    from pydicom.pixels import apply_modality_lut

    n_bits = int(data.BitsStored)
    if not 1 <= n_bits <= 32:
        raise DicomError(f"its header states {n_bits} bits per pixel; 1 to 32 are allowed")
    is_signed = int(data.get("PixelRepresentation", 0) or 0) == 1
    ends = (-(2 ** (n_bits - 1)), 2 ** (n_bits - 1) - 1) if is_signed else (0, 2**n_bits - 1)
    if "ModalityLUTSequence" in data:
        ends = (0, 2 ** int(data.ModalityLUTSequence[0].LUTDescriptor[2]) - 1)
        low, high = float(ends[0]), float(ends[1])
    else:
        found = apply_modality_lut(np.array([ends], dtype=np.int64), data)
        low, high = sorted(map(float, found.ravel()))
    if not (-LARGEST <= low < high <= LARGEST and high - low >= 1e-30):
        raise DicomError("its slope and intercept leave no range of values")
    return PixelRange(low, high)
