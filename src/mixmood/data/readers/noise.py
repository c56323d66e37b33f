"""Pools of noise: a baseline for other pools. Images are made on demand and never stored."""

from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import OptionError
from mixmood.core.seeds import rng_for
from mixmood.core.text import check_name
from mixmood.data.images.names import NOISE_PREFIX
from mixmood.data.images.pool import ImageSource

KINDS = ("gaussian", "salt-and-pepper")
_OPTIONS = {"count": int, "size": int, "channels": int, "p": float, "seed": int}


class NoiseSource(ImageSource):
    """Images of noise; image i depends only on kind, size, channels, p, seed and i.

    `gaussian`: normal values of mean 0 and variance 10, stretched to 0..255 in each image.
    `salt-and-pepper`: every pixel is 255 with probability `p`, else 0; the paper's text has p = 0.5
    (its authors' code about 0.05). With `channels=3` every channel of a pixel has its own value.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        *,
        count: int = 3000,
        size: int = 32,
        channels: int = 1,
        p: float = 0.5,
        seed: int = 0,
    ) -> None:
        """Refuse an unknown kind and numbers out of range."""
        check_name("noise", kind, KINDS)
        for word, value, low, high in (("count", count, 1, 10**9), ("size", size, 2, 4096)):
            if not low <= value <= high:
                raise OptionError(f"The {word} of noise must be {low} to {high}, got {value}.")
        if channels not in (1, 3):
            raise OptionError(f"Noise has 1 or 3 channels, got {channels}.")
        if not 0 < p < 1:
            raise OptionError(f"The p of noise must be between 0 and 1, got {p:g}.")
        self.name, self._kind, self._count, self._p, self._seed = name, kind, count, p, seed
        self._shape = (size, size, channels)

    def __len__(self) -> int:
        """How many images."""
        return self._count

    def fetch(self, index: int) -> NDArray[np.uint8]:
        """Image `index`, made now; shape (size, size, channels)."""
        rng = rng_for(self._seed, NOISE_PREFIX, self._kind, index)
        if self._kind == "gaussian":
            values = rng.normal(0.0, np.sqrt(10.0), self._shape)
            scaled = (values - values.min()) * (255 / (values.max() - values.min()))
            return np.asarray(scaled + 0.5).astype(np.uint8)
        return np.where(rng.random(self._shape) < self._p, 255, 0).astype(np.uint8)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything on which the images depend."""
        words = (self._kind, self._count, *self._shape, str(self._p))
        return rng_for(self._seed, NOISE_PREFIX, *words).bytes(32).hex()


def open_noise(text: str, name: str | None, seed: int) -> NoiseSource:
    """The noise that a text such as `noise:gaussian?count=500&size=64` asks for."""
    kind, _, query = text.removeprefix(NOISE_PREFIX).partition("?")
    options: dict[str, Any] = {"seed": seed}
    try:
        given = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise OptionError(
            f"The options of noise are written like ?count=500&size=64, got '{query}'."
        ) from None
    for word, value in given:
        check_name("option of noise", word, _OPTIONS)
        try:
            options[word] = _OPTIONS[word](value)
        except ValueError:
            kind = "a whole number" if _OPTIONS[word] is int else "a number"
            raise OptionError(f"The {word} of noise must be {kind}, got '{value}'.") from None
    return NoiseSource(kind, name or kind, **options)
