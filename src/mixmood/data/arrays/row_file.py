"""Rows of equal size that lie one after the other in a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mixmood.core.files.bounded import read_at


class RowStore(Protocol):
    """What an array and a file of rows have in common: a shape, a dtype, and rows by index."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows, then the shape of each."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""

    def __getitem__(self, index: int | slice, /) -> Any:
        """One row, or neighbouring rows."""


@dataclass(frozen=True)
class FileRows:
    """Rows of a file, read when asked for: the file is never in memory as a whole.

    A slice must have no step: it is one read of neighbouring rows.
    """

    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __getitem__(self, index: int | slice) -> NDArray[Any]:
        """One row, or neighbours; UnreadableImageError if the file is too short for them now."""
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
    """How many bytes an array takes, in Python's integers, which don't overflow."""
    size = dtype.itemsize
    for length in shape:
        size *= length
    return size
