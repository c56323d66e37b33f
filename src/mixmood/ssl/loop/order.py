"""The images of each update."""

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.seeds import rng_for


class Order:
    """Batches from repeated passes over n images, each pass in a new random order.

    The order depends only on the seed, the purpose and the number of the pass. The batch of any
    update can therefore be computed without the earlier ones, and a resumed run gets the same
    batches.
    """

    def __init__(self, n_images: int, batch_size: int, *, seed: int, purpose: str) -> None:
        """Batches of `batch_size` from passes over `n_images`."""
        self._n_images = n_images
        self._batch_size = batch_size
        self._seed = seed
        self._purpose = purpose
        self._pass_number = -1
        self._pass_rows: Rows = np.empty(0, dtype=np.int64)

    def rows(self, update: int) -> Rows:
        """The images of an update, counted from 0; shape (batch_size,)."""
        position, end = update * self._batch_size, (update + 1) * self._batch_size
        parts = []
        while position < end:
            pass_number, offset = divmod(position, self._n_images)
            part = self._permutation(pass_number)[offset : offset + end - position]
            parts.append(part)
            position += len(part)
        return np.concatenate(parts)

    def _permutation(self, pass_number: int) -> Rows:
        if pass_number != self._pass_number:
            rng = rng_for(self._seed, "order", self._purpose, pass_number)
            self._pass_rows = rng.permutation(self._n_images)
            self._pass_number = pass_number
        return self._pass_rows
