"""Adam in single precision, for any number of heads at once."""

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]


class Adam:
    """Steps from slopes: the running mean over the root of the running mean square.

    Source: Kingma and Ba, "Adam", 2015.
    """

    def __init__(self, shape: tuple[int, ...], mean: float = 0.9, square: float = 0.99) -> None:
        """Begin without memory."""
        self._mean, self._square = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self._decays, self._n = (mean, square), 0

    def step(self, slope: F32, rate: float) -> F32:
        """What to subtract from the unknowns."""
        keep_mean, keep_square = self._decays
        self._n += 1
        self._mean += np.float32(1 - keep_mean) * (slope - self._mean)
        self._square += np.float32(1 - keep_square) * (slope * slope - self._square)
        root = np.sqrt(self._square)
        root *= np.float32(1 / np.sqrt(1 - keep_square**self._n))
        root += np.float32(1e-8)
        return np.asarray(self._mean * np.float32(rate / (1 - keep_mean**self._n)) / root)
