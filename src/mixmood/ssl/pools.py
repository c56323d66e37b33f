"""The pools of a user as pictures of one size for training: opened, decoded, resized, split."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage

from mixmood.core.arrays import Codes, Picture, Rows
from mixmood.core.errors import InputError, TrainingError, UnreadableImageError
from mixmood.core.listener import Listener
from mixmood.core.seeds import rng_for
from mixmood.core.text import counted, either_form, first_names
from mixmood.data.images.labels import minus_one_note, needed_labels
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import ImageSource, evenly_spaced, fit_pixel_range, poor_range
from mixmood.data.open import open_pool
from mixmood.features.sample import no_readable_image, pixel_warnings, unreadable_warning
from mixmood.ssl.plan import SMALLEST_SIDE, TrainingRunPlan

if TYPE_CHECKING:
    from mixmood.ssl.task import Images

MOST_SIDE = 32
N_SIZED = 16  # images of a pool that are read to choose a size


def resized(picture: Picture, size: tuple[int, int]) -> Picture:
    """The picture at (height, width), by area-aware bilinear interpolation."""
    if picture.shape[:2] == size:
        return picture
    height, width = size
    image = PillowImage.fromarray(picture)
    return np.asarray(image.resize((width, height), PillowImage.Resampling.BILINEAR))


def pictures_at(
    source: ImageSource, rows: Iterable[int], size: tuple[int, int]
) -> Iterator[Picture | UnreadableImageError]:
    """Each picture at (height, width); an error object in place of a broken image.

    Large JPEGs are decoded at a reduced size, but at least at twice the wanted size.
    """
    for read in source.read(rows, max(size)):
        yield read if isinstance(read, UnreadableImageError) else resized(read, size)


def load_pictures(
    source: ImageSource, size: tuple[int, int], listener: Listener
) -> tuple[NDArray[np.uint8], Rows]:
    """Every readable picture of a pool, shape (n, height, width, 3), and which of its images."""
    n_images, n_resized, task = len(source), 0, f"reading {source.name}"
    pixels = np.empty((n_images, *size, 3), dtype=np.uint8)
    is_kept = np.zeros(n_images, dtype=bool)
    listener.start(task, n_images)
    order = source.reading_order(np.arange(n_images)).tolist()
    for place, read in zip(order, source.read(order, max(size)), strict=True):
        if not isinstance(read, UnreadableImageError):
            pixels[place], is_kept[place] = resized(read, size), True
            n_resized += read.shape[:2] != size
        listener.advance(task)
    listener.finish(task)
    rows, unreadable = np.flatnonzero(is_kept), np.flatnonzero(~is_kept).tolist()
    if not len(rows):
        raise no_readable_image(source.name, n_images)
    for text in unreadable_warning(n_images, list(map(source.locate, unreadable))):
        listener.warn(f"{source.name}: {text}")
    if n_resized:
        to = f"{size[0]} x {size[1]} pixels"
        listener.note(f"{source.name}: {counted(n_resized, 'image')} resized to {to}.")
    # Moved within the array: a copy would need the same amount of memory again.
    for new_place, place in enumerate(rows.tolist()):
        pixels[new_place] = pixels[place]
    return pixels[: len(rows)], rows


def common_side(source: ImageSource) -> int:
    """The side of the square images to train on: the median shorter side, at most 32 pixels.

    Photos are too large to train a network from scratch with few labels.
    """
    read = source.read(evenly_spaced(len(source), N_SIZED))
    sides = [min(p.shape[:2]) for p in read if not isinstance(p, UnreadableImageError)]
    if not sides:
        # All of these few are unreadable. `load_pictures` reads all images and reports errors.
        return MOST_SIDE
    return max(SMALLEST_SIDE, min(MOST_SIDE, int(np.median(sides))))


def n_shared(pixels: NDArray[np.uint8], other: NDArray[np.uint8]) -> int:
    """How many images of `pixels` have an identical copy in `other`.

    >>> black, white = np.zeros((2, 4, 4, 3), np.uint8), np.full((1, 4, 4, 3), 255, np.uint8)
    >>> n_shared(black, np.concatenate([black, white]))
    2
    """
    known = set(map(_digest, other))
    return sum(_digest(picture) in known for picture in pixels)


def _digest(picture: NDArray[Any]) -> bytes:
    return blake2b(picture.tobytes(), digest_size=16).digest()


def set_aside(
    codes: Codes, shares: dict[str, float], names: tuple[str, ...], rng: np.random.Generator
) -> dict[str, Rows]:
    """Rows for each named share, and the rest under `labelled`; disjoint, stratified by class.

    Each share of a class is at least one image; one more must be left to learn from.
    """
    parts: dict[str, list[Rows]] = {"labelled": [], **{what: [] for what in shares}}
    for code, name in enumerate(names):
        rows = rng.permutation(np.flatnonzero(codes == code))
        wanted = {what: max(1, round(share * len(rows))) for what, share in shares.items()}
        n_aside = sum(wanted.values())
        if len(rows) <= n_aside:
            reasons = [f"{n} for {what}" for what, n in wanted.items()] + ["1 to learn from"]
            raise TrainingError(
                f"Class '{name}' needs at least {n_aside + 1} readable labelled images "
                f"({', '.join(reasons)}); it has {len(rows)}. Label more of them."
            )
        for what, n_images in wanted.items():
            parts[what].append(rows[:n_images])
            rows = rows[n_images:]
        parts["labelled"].append(rows)
    return {what: np.sort(np.concatenate(pieces)) for what, pieces in parts.items()}


DEFAULT_TEST_SHARE = 0.25


def codes_among(names: Sequence[str], own_names: Sequence[str], codes: Codes) -> Codes:
    """The codes of test images among the classes of the labelled images; others are refused.

    A class of `own_names`, those of the test images, need not be known if it has no image.
    """
    found, of_image = np.unique(codes, return_inverse=True)
    unknown = [own_names[code] for code in found if own_names[code] not in names]
    if unknown:
        raise unknown_classes("test", unknown)
    return np.array([names.index(own_names[code]) for code in found], np.int64)[of_image]


def unknown_classes(what: str, classes: Sequence[Any]) -> TrainingError:
    """The error for images whose classes are not among those of the labelled images."""
    return TrainingError(
        f"The {what} images have classes that no labelled image has: {first_names(classes)}. "
        "Label images of these classes, or leave them out."
    )


def few_classes(names: Sequence[str]) -> TrainingError:
    """The error for a labelled set with fewer than two classes."""
    return TrainingError(
        f"At least 2 classes are needed to train; got {len(names)} ({', '.join(names)}). "
        "Put the images of each class in a folder of its own."
    )


class Splits:
    """Labelled, test and validation pictures with the codes of their classes, all of one size.

    The listener hears what is found, each fact once.
    """

    def __init__(self, labelled: Any, plan: TrainingRunPlan, listener: Listener) -> None:
        """Split the labelled pool into images to learn from and images to set aside."""
        self._listener, self._seed = listener, plan.seed
        self.pixel_range: PixelRange | None = None  # stays None if these images have eight bits
        source = self._open(labelled, "labelled")
        labels = needed_labels(source, "labelled pool")
        if note := minus_one_note(labels.names):
            listener.warn(note)
        self.pixel_range = fit_pixel_range(source)
        if self.pixel_range is not None:
            source = source.scaled_by(self.pixel_range)
            listener.note(self.pixel_range.sentence())
        side = common_side(source) if plan.image_size is None else plan.image_size
        self.size, self.class_names = (side, side), labels.names
        pixels, kept = self._load(source)
        codes: Codes = labels.codes[kept].astype(np.int64)
        shares = {} if plan.test is not None else {"test": plan.test_share or DEFAULT_TEST_SHARE}
        if plan.validation_share is not None:
            shares["validation"] = plan.validation_share
        rows = set_aside(codes, shares, labels.names, rng_for(plan.seed, "set aside"))
        parts = {what: (pixels[which], codes[which]) for what, which in rows.items()}
        if plan.test is not None:
            other = self._open(plan.test, "test")
            found = needed_labels(other, "test pool")
            codes_among(labels.names, found.names, found.codes)  # refused before images are read
            pixels, kept = self._load(other)
            parts["test"] = pixels, codes_among(labels.names, found.names, found.codes[kept])
        self.labelled, self.test = parts["labelled"], parts["test"]
        self.validation = parts.get("validation")
        self._warn_of_shared(self.test[0], "test", self.labelled[0], "labelled")

    def unlabelled(self, pool: Any, memory_limit_bytes: int) -> "Images":
        """The pool at the size of the labelled images; streamed if it exceeds the limit."""
        from mixmood.ssl.task import StreamedImages, as_images

        source = self._open(pool, "unlabelled")
        if len(source) * self.size[0] * self.size[1] * 3 > memory_limit_bytes:
            self._listener.warn(
                f"{source.name}: does not fit in memory; images are read as needed."
            )
            return StreamedImages(source, self.size, self._listener)
        pixels, _ = self._load(source)
        self._warn_of_shared(pixels, source.name, self.labelled[0], "labelled")
        self._warn_of_shared(pixels, source.name, self.test[0], "test")
        return as_images(pixels, "unlabelled")

    def _open(self, what: Any, role: str) -> ImageSource:
        source = open_pool(what, seed=self._seed, role=f"{role} pool")
        if not isinstance(source, ImageSource):
            raise InputError(
                f"The {role} pool {source.name} holds features; images are needed to train."
            )
        for note in source.notes:
            self._listener.warn(f"{source.name}: {note}")
        return source.scaled_by(self.pixel_range)

    def _load(self, source: ImageSource) -> tuple[NDArray[np.uint8], Rows]:
        n_tried, n_poor = poor_range(source)
        for text in pixel_warnings(n_tried, 0, n_poor, source.pixel_range):
            self._listener.warn(f"{source.name}: {text}")
        return load_pictures(source, self.size, self._listener)

    def _warn_of_shared(
        self, pixels: NDArray[np.uint8], name: str, other: NDArray[np.uint8], role: str
    ) -> None:
        if count := n_shared(pixels, other):
            are = either_form(count, "is", "are")
            self._listener.warn(
                f"{name}: {counted(count, 'image')} {are} also among the {role} images."
            )
