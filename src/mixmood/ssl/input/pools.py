"""Opening the pools of a user and loading them as arrays for training."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError, OptionError, TrainingError
from mixmood.core.progress import Progress
from mixmood.core.seeds import rng_for
from mixmood.core.words import counted, either_form
from mixmood.data.images.labels import minus_one_note, needed_labels
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import ImageSource, Labels, fit_pixel_range, poor_range
from mixmood.data.open import open_pool
from mixmood.features.sample import pixel_warnings, unreadable_warning
from mixmood.ssl.input.overlap import n_shared
from mixmood.ssl.input.pictures import (
    Loaded,
    PictureReader,
    common_side,
    load_pictures,
)
from mixmood.ssl.input.shares import set_aside
from mixmood.ssl.plan import TrainingPlan

if TYPE_CHECKING:
    from mixmood.ssl.input.images import Images

DEFAULT_TEST_SHARE = 0.25
LabelledPixels = tuple[NDArray[np.uint8], NDArray[np.int64]]


@dataclass(frozen=True)
class Splits:
    """Labelled, test and validation pictures with the codes of their classes."""

    labelled: LabelledPixels
    test: LabelledPixels
    validation: LabelledPixels | None
    class_names: tuple[str, ...]
    size: tuple[int, int]
    pixel_range: PixelRange | None = None
    """How images of more than eight bits are scaled; None if the labelled ones have eight bits."""


class PoolLoader:
    """Loads pools at one size and reports what it found, each fact once."""

    def __init__(
        self,
        progress: Progress,
        seed: int,
        *,
        warn: Callable[[str], None],
        inform: Callable[[str], None] = lambda message: None,
    ) -> None:
        """Report every image read to `progress`, problems to `warn` and other facts to `inform`."""
        self._progress, self._seed = progress, seed
        self._warn, self._inform = warn, inform
        self._pixel_range: PixelRange | None = None

    def splits(self, labelled: Any, test: Any | None, plan: TrainingPlan) -> Splits:
        """The labelled pool split into images to learn from and images to set aside."""
        if test is not None and plan.test_share is not None:
            raise OptionError(
                "Give test images or a test share, not both; "
                f"got {_name(test)} and {plan.test_share:g}."
            )
        source, labels = self._open_labelled(labelled, "labelled")
        if note := minus_one_note(labels.names):
            self._warn(note)
        self._pixel_range = fit_pixel_range(source)
        if self._pixel_range is not None:
            source = source.scaled_by(self._pixel_range)
            self._inform(self._pixel_range.sentence())
        side = common_side(source) if plan.image_size is None else plan.image_size
        size = (side, side)
        loaded = self._load(source, size)
        codes = labels.codes[loaded.rows].astype(np.int64)
        shares = {}
        if test is None:
            shares["test"] = plan.test_share or DEFAULT_TEST_SHARE
        if plan.validation_share is not None:
            shares["validation"] = plan.validation_share
        rows = set_aside(codes, shares, labels.names, rng_for(self._seed, "set aside"))
        parts = {what: (loaded.pixels[which], codes[which]) for what, which in rows.items()}
        if test is not None:
            parts["test"] = self._test_part(test, size, labels.names)
        self._warn_of_shared(parts["test"][0], "test", parts["labelled"][0], "labelled")
        return Splits(
            parts["labelled"],
            parts["test"],
            parts.get("validation"),
            labels.names,
            size,
            self._pixel_range,
        )

    def unlabelled(self, pool: Any, splits: Splits, memory_limit_bytes: int) -> "Images":
        """The pool at the size of the labelled images; streamed if it exceeds the limit."""
        from mixmood.ssl.input.images import StreamedImages, as_images

        source = self._open(pool, "unlabelled")
        if len(source) * splits.size[0] * splits.size[1] * 3 > memory_limit_bytes:
            self._warn(f"{source.name}: does not fit in memory; images are read as needed.")
            return StreamedImages(PictureReader(source, splits.size, self._warn))
        pixels = self._load(source, splits.size).pixels
        self._warn_of_shared(pixels, source.name, splits.labelled[0], "labelled")
        self._warn_of_shared(pixels, source.name, splits.test[0], "test")
        return as_images(pixels, "unlabelled")

    def _test_part(
        self, test: Any, size: tuple[int, int], names: tuple[str, ...]
    ) -> LabelledPixels:
        source, labels = self._open_labelled(test, "test")
        # A class without an image, as in the list of classes of a data set, need not be known.
        found = np.unique(labels.codes)
        unknown = [labels.names[code] for code in found if labels.names[code] not in names]
        if unknown:
            raise TrainingError(
                f"The test images have classes that no labelled image has: {', '.join(unknown)}. "
                "Label images of these classes, or leave them out."
            )
        loaded = self._load(source, size)
        to_code = np.array([names.index(labels.names[code]) for code in found])
        codes = to_code[np.searchsorted(found, labels.codes[loaded.rows])]
        return loaded.pixels, codes.astype(np.int64)

    def _open(self, what: Any, role: str) -> ImageSource:
        source = open_pool(what, seed=self._seed, role=f"{role} pool")
        if not isinstance(source, ImageSource):
            raise InputError(
                f"The {role} pool {source.name} holds features; images are needed to train."
            )
        for note in source.notes:
            self._warn(f"{source.name}: {note}")
        return source.scaled_by(self._pixel_range)

    def _open_labelled(self, what: Any, role: str) -> tuple[ImageSource, Labels]:
        source = self._open(what, role)
        return source, needed_labels(source, f"{role} pool")

    def _load(self, source: ImageSource, size: tuple[int, int]) -> Loaded:
        n_tried, n_poor = poor_range(source)
        for text in pixel_warnings(n_tried, 0, n_poor, source.pixel_range):
            self._warn(f"{source.name}: {text}")
        loaded = load_pictures(source, size, progress=self._progress)
        for text in unreadable_warning(len(source), loaded.unreadable):
            self._warn(f"{source.name}: {text}")
        if loaded.n_resized:
            self._inform(
                f"{source.name}: {counted(loaded.n_resized, 'image')} resized to {size[0]} x "
                f"{size[1]} pixels."
            )
        return loaded

    def _warn_of_shared(
        self, pixels: NDArray[np.uint8], name: str, other: NDArray[np.uint8], role: str
    ) -> None:
        count = n_shared(pixels, other)
        if count:
            are = either_form(count, "is", "are")
            self._warn(f"{name}: {counted(count, 'image')} {are} also among the {role} images.")


def _name(what: Any) -> str:
    return str(what) if isinstance(what, str | Path) else type(what).__name__
