"""The images and labels of a training run as tensors, checked before it starts."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mixmood.core.arrays import Codes, Picture, Rows
from mixmood.core.errors import ShapeError, TrainingError, UnreadableImageError
from mixmood.core.listener import Listener
from mixmood.data.images.pool import ImageSource, evenly_spaced
from mixmood.features.sample import no_readable_image
from mixmood.ssl.models.network import Standardise
from mixmood.ssl.pools import few_classes, pictures_at, unknown_classes


class Images:
    """A set of images of one height, width and number of channels, kept as one tensor."""

    is_streamed = False
    shape: tuple[int, int, int]  # channels, height, width

    def __init__(self, pixels: Tensor) -> None:
        """Keep `pixels`, uint8, shape (n, height, width, channels)."""
        self._pixels = pixels
        _, height, width, channels = pixels.shape
        self.shape = (channels, height, width)

    def __len__(self) -> int:
        """How many images there are."""
        return len(self._pixels)

    def batch(self, rows: Rows) -> Tensor:
        """The images asked for, uint8, (n, channels, height, width), channels last in memory."""
        index = torch.from_numpy(rows).to(self._pixels.device)
        return self._pixels.index_select(0, index).permute(0, 3, 1, 2)

    def fingerprint(self) -> bytes | memoryview:
        """Bytes that change when the images do: the pixels, not copied, as they may be many."""
        return self._pixels.cpu().numpy().reshape(-1).data

    def prefetch(self, rows: Rows) -> None:
        """Say which images will be asked for next."""

    def to(self, device: torch.device) -> "Images":
        """The images on a device."""
        return Images(self._pixels.to(device))


class StreamedImages(Images):
    """Pictures of a pool that does not fit in memory, decoded at one size when they are needed.

    The next batch is decoded during the current update. An unreadable picture is replaced by the
    next readable one of the pool, so that batches keep their size and depend on the rows only.
    """

    is_streamed = True

    def __init__(self, source: ImageSource, size: tuple[int, int], listener: Listener) -> None:
        """Read from `source` at (height, width); the listener gets one warning."""
        self._source, self._size, self._listener = source, size, listener
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="read-images")
        self._next: tuple[bytes, Future[NDArray[np.uint8]]] | None = None
        self._has_warned = False
        self.shape = (3, *size)

    def __len__(self) -> int:
        """How many images there are."""
        return len(self._source)

    def batch(self, rows: Rows) -> Tensor:
        """The images asked for; an unreadable one is replaced by the next readable one."""
        begun, self._next = self._next, None
        is_begun = begun and begun[0] == rows.tobytes()
        pixels = begun[1].result() if begun and is_begun else self._read(rows)
        return torch.from_numpy(pixels).permute(0, 3, 1, 2)

    def prefetch(self, rows: Rows) -> None:
        """Begin to read these images in the background."""
        self._next = (rows.tobytes(), self._worker.submit(self._read, rows))

    def fingerprint(self) -> bytes:
        """The digest of the pool and the size of the resized images."""
        return f"{self._source.fingerprint} {self.shape}".encode()

    def to(self, device: torch.device) -> "StreamedImages":
        """These images: they stay where they are."""
        return self

    def _read(self, rows: Rows) -> NDArray[np.uint8]:
        """The pictures asked for, shape (n, height, width, 3)."""
        read = pictures_at(self._source, rows, self._size)
        return np.stack(
            [
                self._next_readable(row) if isinstance(picture, UnreadableImageError) else picture
                for row, picture in zip(rows.tolist(), read, strict=True)
            ]
        )

    def _next_readable(self, row: int) -> Picture:
        if not self._has_warned:
            # Only once: the number of unreadable images is not known before all have been read.
            self._has_warned = True
            self._listener.warn(
                f"{self._source.name}: {self._source.locate(row)} cannot be read; it and others "
                "like it are replaced by the next readable images."
            )
        others = ((row + step) % len(self) for step in range(1, len(self)))
        for picture in pictures_at(self._source, others, self._size):
            if not isinstance(picture, UnreadableImageError):
                return picture
        raise no_readable_image(self._source.name, len(self))


def as_images(images: Images | NDArray[Any], what: str) -> Images:
    """`Images` unchanged, or those of a uint8 array of shape (n, h, w) or (n, h, w, 1 or 3)."""
    if isinstance(images, Images):
        return images
    if images.dtype != np.uint8 or images.ndim not in (3, 4):
        raise ShapeError(
            f"{what} must be a uint8 array of shape (n, height, width) or (n, height, width, "
            f"channels); got {images.dtype} of shape {images.shape}. Convert the images first."
        )
    pixels = images if images.ndim == 4 else images[..., None]
    if pixels.shape[3] not in (1, 3):
        raise ShapeError(
            f"{what} must have 1 or 3 channels, in the last place; got shape {images.shape}. "
            "Move or convert the channels first."
        )
    return Images(torch.from_numpy(np.ascontiguousarray(pixels)))


CHUNK = 512
SAMPLED = 4096


def standardisation_of(images: Images) -> Standardise:
    """Mean and deviation of all images, or of 4096 evenly spaced ones if they are streamed."""
    rows = torch.arange(len(images))
    if images.is_streamed:
        rows = torch.tensor(evenly_spaced(len(images), SAMPLED))
    total, squares = torch.zeros(1), torch.zeros(1)
    for chunk in torch.split(rows, CHUNK):
        pixels = images.batch(chunk.numpy()).double()
        total = total + pixels.sum(dim=(0, 2, 3))
        squares = squares + pixels.square().sum(dim=(0, 2, 3))
    n_pixels = len(rows) * images.shape[1] * images.shape[2]
    mean = total / n_pixels
    deviation = (squares / n_pixels - mean.square()).clamp_min(0).sqrt()
    # A constant channel becomes 0 everywhere.
    deviation[deviation < 1e-6] = 1.0
    return Standardise(mean.float(), deviation.float())


CodesLike = Codes | Sequence[int]
ImagesLike = Images | NDArray[Any]


@dataclass(frozen=True)
class Labelled:
    """Images and the codes of their classes, shape (n,)."""

    images: Images
    codes: Tensor

    def to(self, device: torch.device) -> "Labelled":
        """The images and codes on a device."""
        return Labelled(self.images.to(device), self.codes.to(device))


@dataclass(frozen=True)
class Task:
    """Labelled, unlabelled, test and validation images of one shape."""

    labelled: Labelled
    unlabelled: Images | None
    test: Labelled
    validation: Labelled | None
    class_names: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.class_names)

    def digest(self) -> str:
        """A hex digest of all images and labels."""
        state = hashlib.sha256()
        for part in (self.labelled, self.test, self.validation):
            if part is not None:
                state.update(part.images.fingerprint())
                state.update(part.codes.cpu().numpy().tobytes())
            state.update(b"|")
        state.update(b"" if self.unlabelled is None else self.unlabelled.fingerprint())
        return state.hexdigest()[:16]

    def to(self, device: torch.device) -> "Task":
        """All images and codes on a device."""
        moved: dict[str, Any] = {
            name: part.to(device) for name, part in vars(self).items() if hasattr(part, "to")
        }
        return replace(self, **moved)


def checked_task(
    labelled: tuple[ImagesLike, CodesLike],
    unlabelled: ImagesLike | None,
    test: tuple[ImagesLike, CodesLike],
    validation: tuple[ImagesLike, CodesLike] | None,
    class_names: Sequence[str] | None,
) -> Task:
    """The task; images and labels that cannot be trained on are refused."""
    own = _labelled(*labelled, "labelled")
    names = _class_names(own.codes, class_names)
    pool = None if unlabelled is None else as_images(unlabelled, "unlabelled")
    if pool is not None and len(pool) == 0:
        raise TrainingError(
            "The unlabelled pool is empty. Give at least one image, or train with 'supervised'."
        )
    tested = _labelled(*test, "test", len(names))
    validated = None if validation is None else _labelled(*validation, "validation", len(names))
    every = {"labelled": own.images, "unlabelled": pool, "test": tested.images}
    every["validation"] = None if validated is None else validated.images
    shapes = {what: images.shape for what, images in every.items() if images is not None}
    if len(set(shapes.values())) > 1:
        listed = ", ".join(f"{what} {shape}" for what, shape in shapes.items())
        raise ShapeError(
            "All images must have one shape (channels, height, width); "
            f"got {listed}. Resize or convert them first."
        )
    return Task(own, pool, tested, validated, names)


def _labelled(
    given: ImagesLike, given_labels: CodesLike, what: str, n_classes: int | None = None
) -> Labelled:
    """The images and their codes, which must be below `n_classes`."""
    images, labels = as_images(given, what), np.asarray(given_labels)
    if labels.shape != (len(images),) or not np.issubdtype(labels.dtype, np.integer):
        raise ShapeError(
            f"The {what} labels must be one whole number for each of the {len(images)} images; "
            f"got {labels.dtype} of shape {labels.shape}."
        )
    if len(images) == 0:
        raise TrainingError(f"There are no {what} images. Give at least one of each class.")
    unknown = set() if n_classes is None else set(labels.tolist()) - set(range(n_classes))
    if unknown:
        raise unknown_classes(what, sorted(unknown))
    return Labelled(images, torch.from_numpy(labels.astype(np.int64)))


def _class_names(codes: Tensor, names: Sequence[str] | None) -> tuple[str, ...]:
    lowest, n_classes = int(codes.min()), int(codes.max()) + 1
    chosen = tuple(map(str, range(n_classes)) if names is None else names)
    if lowest < 0 or n_classes > len(chosen):
        raise ShapeError(
            f"Labels must lie between 0 and {len(chosen) - 1}; got {lowest} to {n_classes - 1}."
        )
    if len(chosen) < 2:
        raise few_classes(chosen)
    counts = torch.bincount(codes, minlength=len(chosen)).tolist()
    missing = [name for name, count in zip(chosen, counts, strict=True) if count == 0]
    if missing:
        raise TrainingError(
            f"Every class needs at least one labelled image; none is of {', '.join(missing)}. "
            "Label some, or number the classes without gaps."
        )
    return chosen
