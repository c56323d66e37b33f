"""From what a user names to arrays that can be trained on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError, OptionError, TrainingError
from mixmood.core.progress import Progress
from mixmood.core.seeds import rng_for
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import ImageSource, Labels
from mixmood.ssl.input.overlap import n_shared
from mixmood.ssl.input.pictures import Loaded, PictureReader, first_size, load, tell_of
from mixmood.ssl.input.shares import set_aside

if TYPE_CHECKING:
    from mixmood.ssl.input.images import Images

DEFAULT_TEST_SHARE = 0.25
Part = tuple[NDArray[np.uint8], NDArray[np.int64]]


@dataclass(frozen=True)
class Splits:
    """Labelled, test and validation pictures with the numbers of their classes."""

    labelled: Part
    test: Part
    validation: Part | None
    class_names: tuple[str, ...]
    size: tuple[int, int]


class PoolLoader:
    """Loads pools at one size and tells what it found, each fact once."""

    def __init__(self, progress: Progress, notify: Callable[[str], None], seed: int) -> None:
        """Tell `progress` of every image read and `notify` of every surprise."""
        self._progress, self._notify, self._seed = progress, notify, seed

    def splits(
        self,
        labelled: Any,
        test: Any | None,
        *,
        test_share: float | None,
        validation_share: float | None,
        image_size: int | None,
    ) -> Splits:
        """The labelled pool cut into what to learn from and what to set aside."""
        if test is not None and test_share is not None:
            raise OptionError(
                f"Give test images or a test share, not both; got {_name(test)} and {test_share:g}."
            )
        source, labels = self._open_labelled(labelled, "labelled")
        size = first_size(source) if image_size is None else _square(image_size)
        loaded = self._load(source, size)
        codes = labels.codes[loaded.rows].astype(np.int64)
        shares = {}
        if test is None:
            shares["test"] = DEFAULT_TEST_SHARE if test_share is None else test_share
        if validation_share is not None:
            shares["validation"] = validation_share
        rows = set_aside(codes, shares, labels.names, rng_for(self._seed, "set aside"))
        parts = {what: (loaded.pixels[which], codes[which]) for what, which in rows.items()}
        if test is not None:
            parts["test"] = self._test_part(test, size, labels.names)
        self._tell_of_shared(parts["test"][0], "test", parts["labelled"][0], "labelled")
        return Splits(parts["labelled"], parts["test"], parts.get("validation"), labels.names, size)

    def unlabelled(self, pool: Any, splits: Splits, memory_limit_bytes: int) -> "Images":
        """The pool at the size of the labelled images; streamed if it exceeds the limit."""
        from mixmood.ssl.input.images import StreamedImages, as_images

        source = self._open(pool, "unlabelled")
        if len(source) * splits.size[0] * splits.size[1] * 3 > memory_limit_bytes:
            self._notify(f"{source.name}: does not fit in memory; images are read as needed.")
            return StreamedImages(PictureReader(source, splits.size, self._notify))
        pixels = self._load(source, splits.size).pixels
        self._tell_of_shared(pixels, source.name, splits.labelled[0], "labelled")
        self._tell_of_shared(pixels, source.name, splits.test[0], "test")
        return as_images(pixels, "unlabelled")

    def _test_part(self, test: Any, size: tuple[int, int], names: tuple[str, ...]) -> Part:
        source, labels = self._open_labelled(test, "test")
        unknown = [name for name in labels.names if name not in names]
        if unknown:
            raise TrainingError(
                f"The test images have classes that no labelled image has: {', '.join(unknown)}. "
                "Label images of these classes, or leave them out."
            )
        loaded = self._load(source, size)
        to_code = np.array([names.index(name) for name in labels.names])
        return loaded.pixels, to_code[labels.codes[loaded.rows]].astype(np.int64)

    def _open(self, what: Any, role: str) -> ImageSource:
        source = open_pool(what, seed=self._seed, role=f"{role} pool")
        if not isinstance(source, ImageSource):
            raise InputError(
                f"The {role} pool {source.name} holds features; images are needed to train."
            )
        return source

    def _open_labelled(self, what: Any, role: str) -> tuple[ImageSource, Labels]:
        source = self._open(what, role)
        if source.labels is None:
            raise InputError(
                f"The {role} pool {source.name} tells no classes. Put the images of each class "
                "in a folder of its own, or give a manifest with a label column."
            )
        return source, source.labels

    def _load(self, source: ImageSource, size: tuple[int, int]) -> Loaded:
        loaded = load(source, size, progress=self._progress)
        tell_of(loaded, source.name, size, self._notify)
        return loaded

    def _tell_of_shared(
        self, pixels: NDArray[np.uint8], name: str, other: NDArray[np.uint8], role: str
    ) -> None:
        count = n_shared(pixels, other)
        if count:
            self._notify(f"{name}: {count} images are also among the {role} images.")


def _square(image_size: int) -> tuple[int, int]:
    if image_size < 4:
        raise OptionError(f"The image size must be at least 4 pixels; got {image_size}.")
    return image_size, image_size


def _name(what: Any) -> str:
    return str(what) if isinstance(what, str) else type(what).__name__
