"""DICOM files to start from, and their elements changed one by one."""

import io
import random
import warnings
from pathlib import Path
from typing import Any

from fuzz.mutate import mutated

NAMES = (
    "CT_small", "MR_small", "MR_small_RLE", "MR_small_bigendian", "MR_small_padded", "693_J2KI",
    "JPEG2000", "SC_rgb_jpeg_dcmtk", "SC_rgb_small_odd", "SC_rgb_rle_2frame", "SC_rgb_rle_16bit",
    "SC_rgb_rle_32bit_2frame", "SC_ybr_full_422_uncompressed", "liver_1frame", "rtdose",
    "rtdose_rle", "image_dfl",
)  # fmt: skip
"""Of pydicom's own tests: grey and colour, plain, RLE, JPEG, of 1 to 32 bits, of several frames."""

COUNTS = (0, 1, 2, 3, 4, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 64, 255, 4095, 32768, 65535)
TEXTS = ("", "0", "-1", "1", "2", "1000000000", "1e308", "-1e308", "1e-308", "nan", "inf", "x")
WORDS = (
    "", "MONOCHROME1", "MONOCHROME2", "PALETTE COLOR", "RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT",
    "HSV", "SIGMOID", "LINEAR_EXACT",
)  # fmt: skip
SYNTAXES = tuple(
    f"1.2.840.10008.1.2{end}" for end in ("", ".1", ".2", ".5", ".4.50", ".4.70", ".4.90", ".9")
)
COUNTED = (
    "Rows", "Columns", "BitsAllocated", "BitsStored", "HighBit", "SamplesPerPixel",
    "PlanarConfiguration", "PixelRepresentation",
)  # fmt: skip
WRITTEN = ("NumberOfFrames", "WindowCenter", "WindowWidth", "RescaleSlope", "RescaleIntercept")
NAMED = ("PhotometricInterpretation", "VOILUTFunction")
TABLES = ("VOILUTSequence", "ModalityLUTSequence")


def dicoms() -> list[bytes]:
    """The files, whole."""
    import pydicom

    folder = Path(pydicom.__file__).parent / "data" / "test_files"
    return [(folder / f"{name}.dcm").read_bytes() for name in NAMES]


def dicom_elements(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """The file with one to three of the elements that pixels are read by set to something else."""
    import pydicom
    from pydicom import config

    config.settings.writing_validation_mode = config.settings.reading_validation_mode = (
        config.IGNORE
    )
    buffer = io.BytesIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = pydicom.dcmread(io.BytesIO(data))
            for _ in range(rng.choice([1, 1, 2, 3])):
                _change(rng, content)
            pydicom.dcmwrite(buffer, content)
    except Exception:
        # What the writer itself refuses is damaged by its bytes instead.
        return mutated(rng, data, others)
    return buffer.getvalue()


def _change(rng: random.Random, content: Any) -> None:
    word = rng.choice((*COUNTED, *WRITTEN, *NAMED, *TABLES, "TransferSyntaxUID", "PixelData"))
    if word in COUNTED:
        setattr(content, word, rng.choice(COUNTS))
    elif word in WRITTEN:
        setattr(content, word, rng.choice(TEXTS))
    elif word in NAMED:
        setattr(content, word, rng.choice(WORDS))
    elif word in TABLES:
        setattr(content, word, [_table(rng)])
    elif word == "TransferSyntaxUID":
        content.file_meta.TransferSyntaxUID = rng.choice(SYNTAXES)
    else:
        content.PixelData = content.PixelData[: rng.choice([0, 2, 100, len(content.PixelData) - 2])]


def _table(rng: random.Random) -> Any:
    """One item of a table of grey values, whose three numbers may not fit its entries."""
    from pydicom.dataset import Dataset

    item = Dataset()
    item.add_new("LUTDescriptor", "US", [rng.choice(COUNTS) for _ in range(rng.choice([1, 3, 3]))])
    item.add_new("LUTData", "US", [rng.choice(COUNTS) for _ in range(rng.choice([1, 16, 256]))])
    return item
