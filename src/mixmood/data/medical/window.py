"""The window of a DICOM file: the grey values that it displays as black and white."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINEAR, EXACT, SIGMOID = "LINEAR", "LINEAR_EXACT", "SIGMOID"
LARGEST = 1e12
"""Real grey values, centres and widths are smaller; arithmetic up to this size is safe."""
NARROWEST = 1e-9


@dataclass(frozen=True)
class Window:
    """A centre and a width with the shape of the curve between black and white; or a table.

    Formulas: DICOM PS3.3, C.11.2.1.2 (linear) and C.11.2.1.3 (others).

    >>> Window(40, 400).apply(np.array([-160.0, 40.0, 240.0])).tolist()
    [0, 128, 255]
    """

    centre: float
    width: float
    shape: str = LINEAR
    table: tuple[int, tuple[int, ...], int] | None = None
    """First value, entries and bits of a VOI table, which is used instead of centre and width."""

    def apply(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        """Grey values as uint8."""
        x = np.asarray(values, np.float64)
        part: NDArray[np.float64]
        if self.table is not None:
            first, entries, bits = self.table
            places = np.clip(np.rint(x) - first, 0, len(entries) - 1).astype(np.int64)
            part = np.array(entries, np.float64)[places] / (2**bits - 1)
        elif self.shape == SIGMOID:
            # Far from the centre the power would overflow; there the result is 0 or 1.
            part = 1 / (1 + np.exp(np.clip(-4 * (x - self.centre) / self.width, -50, 50)))
        elif self.shape == EXACT:
            part = (x - self.centre) / self.width + 0.5
        else:
            part = (x - (self.centre - 0.5)) / max(self.width - 1, NARROWEST) + 0.5
        return np.clip(part * 255 + 0.5, 0, 255).astype(np.uint8)


def window_of(data: Any) -> Window | None:
    """The first window of a file; None if the file has no usable window."""
    if data.get("VOILUTSequence"):
        item = data.VOILUTSequence[0]
        count, first, bits = (int(value) for value in item.LUTDescriptor)
        entries = item.LUTData
        if isinstance(entries, bytes):
            entries = np.frombuffer(entries, "<u2" if bits > 8 else "<u1")
        table = first, tuple(int(value) for value in entries)[: count or 65_536], bits
        return Window(0, 1, table=table) if table[1] and 1 <= bits <= 16 else None
    centre, width = (_first(data.get(word)) for word in ("WindowCenter", "WindowWidth"))
    if centre is None or width is None:
        return None
    # In this form a NaN is refused too.
    if not (abs(centre) <= LARGEST and NARROWEST <= width <= LARGEST):
        return None
    shape = str(data.get("VOILUTFunction", None) or LINEAR)
    return Window(centre, width, shape if shape in (EXACT, SIGMOID) else LINEAR)


def _first(value: Any) -> float | None:
    """The first number of an element that has none, one or several; None if it has none."""
    if value is None or value == "":
        return None
    several = value if hasattr(value, "__getitem__") and not isinstance(value, str) else [value]
    return float(several[0]) if len(several) else None
