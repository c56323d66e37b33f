"""Names for the arrays that pass between layers, and arrays in one .npz file."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]  # feature vectors, shape (n, d), or lists of distances, (n,)
Picture = NDArray[np.uint8]  # one RGB image, shape (height, width, 3)
Codes = NDArray[np.integer[Any]]  # the class or the group of each row as a number, shape (n,)
Mask = NDArray[np.bool_]  # true for the chosen rows, shape (n,), or (k, n) for k choices
Rows = NDArray[np.integer[Any]]  # indices of images or of rows

MOST_BYTES = 2 * 2**30


def packed_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The content of a file of arrays under their names, uncompressed."""
    buffer = io.BytesIO()
    # In NumPy's stubs, every keyword has the type of allow_pickle.
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def read_arrays(path: Path, most_bytes: int = MOST_BYTES) -> dict[str, NDArray[Any]]:
    """The arrays by name; ValueError if too large, and many other errors of a damaged file."""
    with zipfile.ZipFile(path) as archive:
        n_bytes = sum(member.file_size for member in archive.infolist())
    if n_bytes > most_bytes:
        raise ValueError(f"it unpacks to {n_bytes} bytes, more than the {most_bytes} allowed")
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
