"""Draws the images of a scenario, as arrays for training."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mixmood.core.arrays import Codes, Rows
from mixmood.core.errors import InputError
from mixmood.core.seeds import rng_for
from mixmood.core.suggest import unknown_name
from mixmood.data.decoding.decode import decode
from mixmood.data.decoding.quiet import QUIET
from mixmood.data.pools.noise import NoiseSource
from mixmood.data.pools.pool import ImageSource
from mixmood.data.sets.library import known_sets, open_set
from mixmood.data.splits.scenario import NOISE, NONE, OTHER_HALF, Cut, Scenario, cut

Pixels = NDArray[np.uint8]
Shape = tuple[int, int, int]
"""Height, width and channels."""


@dataclass(frozen=True)
class Split:
    """The images of one scenario: uint8, shape (n, height, width, 1 or 3), codes from 0.

    `is_ood` is true for each unlabelled image from the source.
    """

    labelled: Pixels
    labels: Codes
    unlabelled: Pixels
    is_ood: NDArray[np.bool_]
    test: Pixels
    test_labels: Codes
    validation: Pixels
    validation_labels: Codes
    class_names: tuple[str, ...]


Decoded = dict[tuple[object, ...], Pixels]
"""Decoded images; the keys contain everything on which the pixels depend."""


def draw_split(
    scenario: Scenario, home: Path | None = None, decoded: Decoded | None = None
) -> Split:
    """The images of a scenario; the same scenario and data give the same images.

    Scenarios of one task and seed share most of their images. With the same dictionary `decoded`,
    to which decoded images are added, each image is decoded once for all of them.
    """
    task = open_set(scenario.task, home)
    parts = cut(scenario, task)
    shape = _shape_of(task, scenario.image_scale)
    source, rows = _ood(scenario, task, parts, shape, home)
    known = {} if decoded is None else decoded

    def images(rows: Rows, source: ImageSource = task) -> Pixels:
        return _stack(source, rows, shape, known, (scenario.task, scenario.seed))

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


def check_split(scenario: Scenario, home: Path | None = None) -> None:
    """Refuse a scenario for which its data sets are too small; only one image is read."""
    task = open_set(scenario.task, home)
    _ood(scenario, task, cut(scenario, task), _shape_of(task, scenario.image_scale), home)


def data_fingerprint(scenario: Scenario, home: Path | None = None) -> str:
    """A digest of the data sets of a scenario; noise depends only on the scenario."""
    sets = [open_set(scenario.task, home)]
    if scenario.source not in (NONE, OTHER_HALF, *NOISE):
        sets.append(_open_source(scenario.source, home))
    state = hashlib.sha256()
    for pool in sets:
        state.update(pool.fingerprint.encode())
        state.update(b"" if pool.labels is None else pool.labels.codes.tobytes())
    return state.hexdigest()[:16]


def _open_source(name: str, home: Path | None) -> ImageSource:
    """The data set of this name; the message for an unknown name lists all kinds of sources."""
    if name not in known_sets(home):
        raise unknown_name("source", name, [OTHER_HALF, *NOISE, *known_sets(home)])
    return open_set(name, home)


def _ood(
    scenario: Scenario,
    task: ImageSource,
    parts: Cut,
    shape: tuple[int, int, int],
    home: Path | None,
) -> tuple[ImageSource, Rows]:
    """The source of out-of-distribution images, and the rows that are added to the pool."""
    rng = rng_for(scenario.seed, "scenario", scenario.task, "ood", scenario.source)
    if scenario.source == NONE:
        return task, np.empty(0, dtype=np.int64)
    if scenario.source in NOISE:
        noise = NoiseSource(
            NOISE[scenario.source],
            scenario.source,
            count=max(1, scenario.n_ood),
            size=shape[0],
            channels=shape[2],
            seed=int(rng.integers(2**31)),
        )
        return noise, np.arange(scenario.n_ood)
    is_half = scenario.source == OTHER_HALF
    source = task if is_half else _open_source(scenario.source, home)
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


def _stack(
    source: ImageSource,
    rows: Iterable[int],
    shape: Shape,
    known: Decoded,
    task_and_seed: tuple[str, int],
) -> Pixels:
    """Pixels of a source in one array, all of this shape.

    Task, seed and the name of the source determine the images, also those of noise.
    """
    pictures = []
    with QUIET:
        for row in rows:
            key = (*task_and_seed, source.name, shape, int(row))
            if key not in known:
                known[key] = _fitted(source, int(row), shape)
            pictures.append(known[key])
    return np.stack(pictures) if pictures else np.empty((0, *shape), dtype=np.uint8)


def _fitted(source: ImageSource, row: int, shape: Shape) -> Pixels:
    height, width, channels = shape
    pixels: Pixels = decode(source.fetch(row), source.locate(row))
    is_grey, is_sized = channels == 1, pixels.shape[:2] == (height, width)
    if is_grey or not is_sized:
        # Three equal channels give exactly their value.
        image = Image.fromarray(pixels).convert("L" if is_grey else "RGB")
        if not is_sized:
            image = image.resize((width, height), Image.Resampling.BILINEAR)
        pixels = np.asarray(image)
    return pixels.reshape(shape)
