"""The images and labels of a training run, checked before it starts."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mixmood.core.errors import ShapeError, TrainingError
from mixmood.ssl.input.images import Images, as_images

CodesLike = NDArray[np.integer[Any]] | Sequence[int]
ImagesLike = Images | NDArray[Any]


@dataclass(frozen=True)
class Labelled:
    """Images and the codes of their classes, shape (n,)."""

    images: Images
    codes: Tensor

    def to(self, device: torch.device) -> "Labelled":
        """The same on a device."""
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
        """The same on a device."""
        return Task(
            self.labelled.to(device),
            None if self.unlabelled is None else self.unlabelled.to(device),
            self.test.to(device),
            None if self.validation is None else self.validation.to(device),
            self.class_names,
        )


def checked_task(
    labelled: tuple[ImagesLike, CodesLike],
    unlabelled: ImagesLike | None,
    test: tuple[ImagesLike, CodesLike],
    validation: tuple[ImagesLike, CodesLike] | None,
    class_names: Sequence[str] | None,
) -> Task:
    """The task; images and labels that cannot be trained on are refused."""
    train_part = _labelled(labelled, "labelled")
    names = _class_names(train_part.codes, class_names)
    pool = None if unlabelled is None else as_images(unlabelled, "unlabelled")
    if pool is not None and len(pool) == 0:
        raise TrainingError(
            "The unlabelled pool is empty. Give at least one image, or train with 'supervised'."
        )
    test_part = _labelled(test, "test")
    validation_part = None if validation is None else _labelled(validation, "validation")
    for what, part in (("test", test_part), ("validation", validation_part)):
        if part is not None:
            _check_codes(part.codes, what, names)
    shapes = {
        what: images.shape
        for what, images in {
            "labelled": train_part.images,
            "unlabelled": pool,
            "test": test_part.images,
            "validation": None if validation_part is None else validation_part.images,
        }.items()
        if images is not None
    }
    if len(set(shapes.values())) > 1:
        listed = ", ".join(f"{what} {shape}" for what, shape in shapes.items())
        raise ShapeError(
            "All images must have one shape (channels, height, width); "
            f"got {listed}. Resize or convert them first."
        )
    return Task(train_part, pool, test_part, validation_part, names)


def _labelled(pair: tuple[ImagesLike, CodesLike], what: str) -> Labelled:
    images, labels = as_images(pair[0], what), np.asarray(pair[1])
    if labels.shape != (len(images),) or not np.issubdtype(labels.dtype, np.integer):
        raise ShapeError(
            f"The {what} labels must be one whole number for each of the {len(images)} images; "
            f"got {labels.dtype} of shape {labels.shape}."
        )
    if len(images) == 0:
        raise TrainingError(f"There are no {what} images. Give at least one of each class.")
    return Labelled(images, torch.from_numpy(labels.astype(np.int64)))


def _class_names(codes: Tensor, names: Sequence[str] | None) -> tuple[str, ...]:
    lowest, n_classes = int(codes.min()), int(codes.max()) + 1
    chosen = tuple(names) if names is not None else tuple(str(code) for code in range(n_classes))
    if lowest < 0 or n_classes > len(chosen):
        raise ShapeError(
            f"Labels must lie between 0 and {len(chosen) - 1}; got {lowest} to {n_classes - 1}."
        )
    if len(chosen) < 2:
        raise TrainingError(
            f"At least 2 classes are needed to train; got {len(chosen)} ({', '.join(chosen)}). "
            "Put the images of each class in a folder of its own."
        )
    counts = torch.bincount(codes, minlength=len(chosen)).tolist()
    missing = [name for name, count in zip(chosen, counts, strict=True) if count == 0]
    if missing:
        raise TrainingError(
            f"Every class needs at least one labelled image; none is of {', '.join(missing)}. "
            "Label some, or number the classes without gaps."
        )
    return chosen


def _check_codes(codes: Tensor, what: str, names: tuple[str, ...]) -> None:
    unknown = sorted(set(codes.tolist()) - set(range(len(names))))
    if unknown:
        raise TrainingError(
            f"The {what} images have classes that no labelled image has: "
            f"{', '.join(map(str, unknown))}. Label images of these classes, or leave them out."
        )
