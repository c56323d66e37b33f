"""Draws the images of a scenario, as arrays for training."""

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mixmood.core.arrays import Codes, Rows
from mixmood.core.errors import InputError, OptionError
from mixmood.core.seeds import rng_for
from mixmood.core.text import unknown_name
from mixmood.data.images.decode import QUIET, decode
from mixmood.data.images.pool import ImageSource
from mixmood.data.readers.noise import NoiseSource
from mixmood.data.sets import known_sets, open_set

Contamination = Literal["fixed-total", "fixed-inliers"]
Noise = Literal["text", "code"]

NONE = "none"
OTHER_HALF = "other_half"
NOISE = {"gaussian": "gaussian", "salt_and_pepper": "salt-and-pepper"}
"""Sources that are noise, with their names in `mixmood.data.readers.noise`."""
LARGE_SIDE, FEW_SALT = 224, 0.05  # side and share of salt of the noise of the authors' code


@dataclass(frozen=True)
class Scenario:
    """All settings of a split; equal settings give equal images.

    Attributes:
        source: Where out-of-distribution images come from: a data set, `other_half` (the classes of
            the task that were not chosen), `gaussian`, `salt_and_pepper`, or `none`.
        contamination: With `fixed-total`, out-of-distribution images replace images of the task, as
            in the paper; with `fixed-inliers`, they are added to them.
        noise: `text` as the paper says: at the size of the images, salt and pepper equally likely.
            `code` as its authors' code makes it: at 224 pixels (times `image_scale`), 5 % salt on
            black, then shrunk, which leaves a deviation of 5 to 7 of 255.
    """

    task: str  # the data set whose classes are learned
    source: str = NONE
    percent: float = 0.0  # out-of-distribution images as a percentage of `n_unlabelled`
    n_labelled: int = 60
    seed: int = 0  # decides classes and images
    n_unlabelled: int = 3000  # unlabelled images, before contamination
    contamination: Contamination = "fixed-total"
    n_classes: int = 5  # the number of random classes of the task
    test_share: float = 0.25  # of the images of these classes, for testing only
    n_validation: int = 60  # further labelled images, used to choose an epoch
    balanced: bool = False  # as many labelled images of each class; else at random, one or more
    image_scale: float = 1.0  # the side of the images relative to the task's own
    noise: Noise = "text"
    rgb: bool = False  # give grey images three equal channels

    def __post_init__(self) -> None:
        """Refuse settings that do not fit together; ranges are checked in `testbed/config.py`."""
        if (self.source == NONE) != (self.percent == 0):
            raise OptionError(
                "The source must be 'none' at 0 percent, and at no other percentage; got "
                f"'{self.source}' with {self.percent:g}."
            )
        if self.source == self.task:
            raise OptionError(
                f"'{self.task}' cannot be its own source: labelled and test images would be in the "
                f"pool. Its other classes are the source '{OTHER_HALF}'."
            )
        if self.n_labelled < self.n_classes:
            raise OptionError(
                f"n_labelled must be at least {self.n_classes}, one for each class; "
                f"got {self.n_labelled}."
            )

    @property
    def n_ood(self) -> int:
        """How many out-of-distribution images the pool gets."""
        return round(self.n_unlabelled * self.percent / 100)

    @property
    def n_inliers(self) -> int:
        """How many images of the task's own classes the pool gets."""
        is_added = self.contamination == "fixed-inliers"
        return self.n_unlabelled if is_added else self.n_unlabelled - self.n_ood


@dataclass(frozen=True)
class Cut:
    """The indices of the task's images in each part of a split."""

    class_names: tuple[str, ...]
    codes: Codes  # of every image of the task: the number of its class among those chosen, or -1
    test: Rows
    validation: Rows
    labelled: Rows
    inliers: Rows
    other_half: Rows


def cut(scenario: Scenario, task: ImageSource) -> Cut:
    """The split of the task's own images; InputError if the data set is too small."""
    labels, n_classes = task.labels, scenario.n_classes
    if labels is None:
        raise InputError(
            f"The data set '{scenario.task}' has no labels and cannot be a task. "
            "Use it as a source, or choose another task."
        )
    if len(labels.names) < n_classes:
        raise InputError(
            f"{n_classes} classes were wanted; '{scenario.task}' has {len(labels.names)}. Lower "
            "n_classes."
        )
    rng = rng_for(scenario.seed, "scenario", scenario.task, "classes")
    classes = sorted(rng.choice(len(labels.names), n_classes, replace=False).tolist())
    renumbered = np.full(len(labels.names), -1)
    renumbered[classes] = np.arange(n_classes)
    codes = np.asarray(renumbered[labels.codes])
    chosen = np.flatnonzero(codes >= 0)
    order = rng_for(scenario.seed, "scenario", scenario.task, "order").permutation(chosen)
    n_test = round(scenario.test_share * len(order))
    test, validation, rest = np.split(order, [n_test, n_test + scenario.n_validation])
    if len(rest) < scenario.n_labelled + scenario.n_inliers:
        raise InputError(
            f"The {n_classes} classes of '{scenario.task}' have {len(order)} images, of which "
            f"{len(rest)} remain after test and validation; {scenario.n_labelled} labelled and "
            f"{scenario.n_inliers} unlabelled ones were wanted. Lower n_labelled or n_unlabelled."
        )
    labelled = _first_labelled(rest, codes, scenario)
    left = rest[~np.isin(rest, labelled)]
    # From the end, so that the pool does not depend on the number of labelled images.
    inliers = left[::-1][: scenario.n_inliers]
    names = tuple(labels.names[code] for code in classes)
    return Cut(names, codes, test, validation, labelled, inliers, np.flatnonzero(codes < 0))


def _first_labelled(rest: Rows, codes: Codes, scenario: Scenario) -> Rows:
    """The labelled images; the first image of every class is always among them."""
    counts = np.bincount(codes[rest], minlength=scenario.n_classes)
    share = -(-scenario.n_labelled // scenario.n_classes) if scenario.balanced else 1
    if counts.min() < share:
        raise InputError(
            f"n_labelled = {scenario.n_labelled} needs {share} images of each of the "
            f"{scenario.n_classes} classes of '{scenario.task}'; the smallest has {counts.min()} "
            "left. Lower n_labelled."
        )
    # The rank of an image among the images of its class, from 0.
    rank = np.empty(len(rest), dtype=np.int64)
    for code, count in enumerate(counts):
        rank[codes[rest] == code] = np.arange(count)
    turn = rank if scenario.balanced else np.minimum(rank, 1)
    return rest[np.argsort(turn, kind="stable")][: scenario.n_labelled]


Pixels = NDArray[np.uint8]
Shape = tuple[int, int, int]  # height, width and channels


@dataclass(frozen=True)
class Split:
    """The images of one scenario: uint8, shape (n, height, width, 1 or 3), codes from 0."""

    labelled: Pixels
    labels: Codes
    unlabelled: Pixels
    is_ood: NDArray[np.bool_]  # of each unlabelled image, whether it is of the source
    test: Pixels
    test_labels: Codes
    validation: Pixels
    validation_labels: Codes
    class_names: tuple[str, ...]


def draw_split(scenario: Scenario) -> Split:
    """The images of a scenario; the same scenario and data give the same images."""
    task = open_set(scenario.task)
    parts = cut(scenario, task)
    shape = _shape_of(task, scenario.image_scale)
    source, rows = _ood(scenario, task, parts, shape)

    def images(rows: Rows, source: ImageSource = task) -> Pixels:
        found = _stack(source, rows, shape)
        return np.repeat(found, 3, axis=3) if scenario.rgb and shape[2] == 1 else found

    inliers, ood = images(parts.inliers), images(rows, source)
    order = rng_for(scenario.seed, "scenario", "mix").permutation(len(inliers) + len(ood))
    return Split(
        labelled=images(parts.labelled),
        labels=parts.codes[parts.labelled],
        unlabelled=np.concatenate([inliers, ood])[order],
        is_ood=(np.arange(len(order)) >= len(inliers))[order],
        test=images(parts.test),
        test_labels=parts.codes[parts.test],
        validation=images(parts.validation),
        validation_labels=parts.codes[parts.validation],
        class_names=parts.class_names,
    )


def check_split(scenario: Scenario) -> None:
    """Refuse a scenario for which its data sets are too small; only one image is read."""
    task = open_set(scenario.task)
    _ood(scenario, task, cut(scenario, task), _shape_of(task, scenario.image_scale))


def data_fingerprint(scenario: Scenario) -> str:
    """A digest of the data sets of a scenario; noise depends only on the scenario."""
    sets = [open_set(scenario.task)]
    if scenario.source not in (NONE, OTHER_HALF, *NOISE):
        sets.append(_open_source(scenario.source))
    state = hashlib.sha256()
    for pool in sets:
        state.update(pool.fingerprint.encode())
        state.update(b"" if pool.labels is None else pool.labels.codes.tobytes())
    return state.hexdigest()[:16]


def _open_source(name: str) -> ImageSource:
    """The data set of this name; the message for an unknown name lists all kinds of sources."""
    if name not in known_sets():
        raise unknown_name("source", name, [OTHER_HALF, *NOISE, *known_sets()])
    return open_set(name)


def _ood(
    scenario: Scenario, task: ImageSource, parts: Cut, shape: Shape
) -> tuple[ImageSource, Rows]:
    """The source of out-of-distribution images, and the rows that are added to the pool."""
    rng = rng_for(scenario.seed, "scenario", scenario.task, "ood", scenario.source)
    if scenario.source == NONE:
        return task, np.empty(0, dtype=np.int64)
    if scenario.source in NOISE:
        is_shrunk = scenario.noise == "code"
        noise = NoiseSource(
            NOISE[scenario.source],
            scenario.source,
            count=max(1, scenario.n_ood),
            size=max(2, round(LARGE_SIDE * scenario.image_scale)) if is_shrunk else shape[0],
            channels=shape[2],
            p=FEW_SALT if is_shrunk else 0.5,
            seed=int(rng.integers(2**31)),
        )
        return noise, np.arange(scenario.n_ood)
    is_half = scenario.source == OTHER_HALF
    source = task if is_half else _open_source(scenario.source)
    rows = rng.permutation(parts.other_half if is_half else np.arange(len(source)))
    if len(rows) < scenario.n_ood:
        raise InputError(
            f"{scenario.n_ood} images of '{scenario.source}' were wanted; it has {len(rows)} "
            f"for the task '{scenario.task}'. Lower n_unlabelled or the percent."
        )
    return source, rows[: scenario.n_ood]


def _shape_of(task: ImageSource, scale: float) -> Shape:
    """Height, width and channels of the scaled images of the task."""
    first = np.asarray(task.fetch(0))
    height, width = (max(1, round(side * scale)) for side in first.shape[:2])
    return height, width, 1 if first.ndim == 2 or first.shape[2] == 1 else 3


def _stack(source: ImageSource, rows: Rows, shape: Shape) -> Pixels:
    """Pixels of a source in one array, all of this shape."""
    height, width, channels = shape
    pictures = np.empty((len(rows), *shape), dtype=np.uint8)
    with QUIET:
        for place, row in enumerate(rows.tolist()):
            pixels: Pixels = decode(source.fetch(row), source.locate(row))
            if channels == 1 or pixels.shape[:2] != (height, width):
                # Three equal channels give exactly their value.
                image = Image.fromarray(pixels).convert("L" if channels == 1 else "RGB")
                if image.size != (width, height):
                    image = image.resize((width, height), Image.Resampling.BILINEAR)
                pixels = np.asarray(image)
            pictures[place] = pixels.reshape(shape)
    return pictures
