"""Scores images: score, nearest labelled image and class of each. Saved as plain arrays."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows
from mixmood.core.errors import InputError, reason
from mixmood.core.files.atomic import write_atomic
from mixmood.core.files.plain_arrays import packed_arrays, read_arrays
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import ImageSource, Pool
from mixmood.heads.linear import LinearHead
from mixmood.selection.fitted import FittedFilter, filter_from_arrays, filter_to_arrays
from mixmood.selection.scan.parts import ScanPart


@dataclass(frozen=True)
class Scorer:
    """A fitted filter with a classifier, the names of classes and labelled images, and a backbone.

    Attributes:
        filter: The fitted filter, which scores features.
        head: The classifier; None without labels.
        class_names: The names of the head's classes.
        labelled_names: The names of the labelled images; the nearest one is shown by its name.
        backbone: The digest of the network that computes the features; "" for pools of features.
        backbone_name: Its name, from which `--load` loads it.
        resolution: The side of its input images in pixels; 0 for pools of features.
        pixel_range: How images of more than eight bits are scaled; None if there were none.
    """

    filter: FittedFilter
    head: LinearHead | None
    class_names: tuple[str, ...]
    labelled_names: tuple[str, ...]
    backbone: str
    backbone_name: str
    resolution: int
    pixel_range: PixelRange | None = None

    def scaled(self, pool: Pool) -> Pool:
        """The pool, with images of more than eight bits scaled like the labelled ones."""
        if self.pixel_range is None or not isinstance(pool, ImageSource):
            return pool
        return pool.scaled_by(self.pixel_range)

    def part(
        self, features: Array, places: Rows, n_images: int, problems: Mapping[int, str]
    ) -> ScanPart:
        """The results for consecutive images, some of which may be unreadable.

        Args:
            features: Of the readable images, shape (k, d).
            places: The position of each readable image among all, shape (k,).
            n_images: How many images there are, unreadable ones included.
            problems: Why each unreadable image could not be read, by its position.
        """
        batch = self.filter.scored(features)
        classes = np.full(n_images, -1, np.int32)
        confidence = np.zeros(n_images)
        if self.head is not None and len(places):
            chances = self.head.predict_proba(features)
            classes[places], confidence[places] = chances.argmax(axis=1), chances.max(axis=1)
        words = np.full(n_images, "", dtype=f"U{max([1, *map(len, problems.values())])}")
        for place, text in problems.items():
            words[place] = text or "unreadable"
        return ScanPart(
            scores=_filled(batch.scores, places, n_images, 0.0),
            nearest=_filled(batch.nearest, places, n_images, -1),
            is_copy=_filled(batch.is_copy, places, n_images, False),
            codes=_filled(batch.codes, places, n_images, 0),
            classes=classes,
            confidence=confidence,
            problems=words,
        )


def _filled(values: NDArray[Any], places: Rows, n_images: int, filler: Any) -> NDArray[Any]:
    """The values at their places among all images; `filler` at the other places."""
    found = np.full((n_images, *values.shape[1:]), filler, dtype=values.dtype)
    found[places] = values
    return found


def save_scorer(path: Path, scorer: Scorer) -> None:
    """Write a scorer as plain arrays; the labelled images are not needed to use it."""
    write_atomic(path, packed_scorer(scorer))


def packed_scorer(scorer: Scorer) -> bytes:
    """A scorer as the bytes of its file; workers on other machines get these too."""
    head, pixel_range = scorer.head, scorer.pixel_range
    arrays = {
        **{f"filter_{name}": value for name, value in filter_to_arrays(scorer.filter).items()},
        "class_names": np.array(scorer.class_names, dtype=np.str_),
        "labelled_names": np.array(scorer.labelled_names, dtype=np.str_),
        "backbone": np.array([scorer.backbone, scorer.backbone_name]),
        "resolution": np.array(scorer.resolution),
        "pixel_range": np.array([] if pixel_range is None else [pixel_range.low, pixel_range.high]),
    }
    if head is not None:
        arrays |= {
            "head_weights": head.weights,
            "head_bias": head.bias,
            "head_temperature": np.array(head.temperature),
        }
    return packed_arrays(arrays)


def unpacked_scorer(content: bytes) -> Scorer:
    """The scorer from the bytes of `packed_scorer`."""
    return _from_arrays(read_arrays(io.BytesIO(content)))


def load_scorer(path: Path) -> Scorer:
    """Read what `save_scorer` wrote; refuse anything else."""
    try:
        return _from_arrays(read_arrays(path))
    except InputError as error:
        raise InputError(f"{path} is not a saved filter: {error}") from error
    except Exception as error:
        # A damaged archive raises a dozen kinds of errors.
        raise InputError(
            f"{path} is not a saved filter: {reason(error)}. Give a file written by --save."
        ) from error


def _from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Scorer:
    fitted = {
        name.removeprefix("filter_"): value
        for name, value in arrays.items()
        if name.startswith("filter_")
    }
    found = filter_from_arrays(fitted)
    class_names = tuple(map(str, arrays["class_names"]))
    head = None
    if "head_weights" in arrays:
        weights, bias = arrays["head_weights"], arrays["head_bias"]
        if (
            weights.shape != (found.score.width, len(class_names))
            or bias.shape != weights.shape[1:]
        ):
            raise ValueError("its classifier does not fit its features")
        head = LinearHead(weights, bias, float(arrays["head_temperature"]))
    fingerprint, name = map(str, arrays["backbone"])
    names = tuple(map(str, arrays["labelled_names"]))
    limits = [float(value) for value in arrays["pixel_range"]]
    return Scorer(
        found,
        head,
        class_names,
        names,
        fingerprint,
        name,
        int(arrays["resolution"]),
        PixelRange(*limits) if limits else None,
    )
