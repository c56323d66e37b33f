"""Rows of equal size, one after the other in a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mixmood.core.files.bounded import read_at


class RowStore(Protocol):
    """The interface of arrays and of files of rows: a shape, a dtype, and rows by index."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows, then the shape of each."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""

    def __getitem__(self, index: int | slice, /) -> Any:
        """One row, or neighbouring rows."""


@dataclass(frozen=True)
class FileRows:
    """Rows of a file, read when needed: the file is never in memory as a whole.

    A slice must have no step: it is one read of neighbouring rows.
    """

    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __getitem__(self, index: int | slice) -> NDArray[Any]:
        """One row, or neighbouring rows; UnreadableImageError if the file has become too short."""
        if isinstance(index, slice):
            first, last, _ = index.indices(self.shape[0])
            return self._read(first, last - first).reshape(-1, *self.shape[1:])
        return self._read(index, 1).reshape(self.shape[1:])

    def _read(self, first: int, count: int) -> NDArray[Any]:
        size = n_bytes(self.shape[1:], self.dtype)
        where = f"{self.path.name}[{first}]"
        data = read_at(self.path, self.offset + first * size, count * size, where)
        return np.frombuffer(data, dtype=self.dtype)


def n_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """The size of an array in bytes; Python integers do not overflow."""
    size = dtype.itemsize
    for length in shape:
        size *= length
    return size
