"""From a pool and indices to features."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Picture, Rows
from mixmood.core.errors import UnreadableImageError
from mixmood.core.progress import Progress, Silent
from mixmood.data.decode import decode
from mixmood.data.source import ImageSource
from mixmood.features.backbone import Backbone
from mixmood.features.resize import square


@dataclass(frozen=True)
class Extraction:
    """Features of the readable images among those asked for, and the story of the others."""

    features: NDArray[np.float32]
    """Shape (k, width), row i for image kept[i]."""
    kept: NDArray[np.int64]
    """The indices that were readable, in the order asked for."""
    unreadable: list[tuple[int, str]]
    """The index of each image that was not, and why."""
    n_cached: int
    n_computed: int


def extract(
    source: ImageSource,
    indices: Sequence[int] | Rows,
    backbone: Backbone,
    *,
    jobs: int | None = None,
    progress: Progress = Silent(),  # noqa: B008 - it holds no state
) -> Extraction:
    """The features of some images of a pool; only these images are read.

    The values do not depend on `jobs` or on which images are asked for together.
    """
    asked = np.asarray(indices, dtype=np.int64)
    chunks = np.split(asked, range(backbone.batch_size, len(asked), backbone.batch_size))
    rows: list[NDArray[np.float32]] = []
    kept: list[int] = []
    unreadable: list[tuple[int, str]] = []
    progress.start(source.name, len(asked))
    with ThreadPoolExecutor(jobs or available_cores()) as pool:
        for chunk, (good, bad, features) in zip(
            chunks, pool.map(lambda c: _embed_chunk(source, c, backbone), chunks), strict=True
        ):
            rows.append(features)
            kept += good
            unreadable += bad
            progress.advance(source.name, len(chunk))
    progress.finish(source.name)
    features = np.concatenate(rows) if rows else np.empty((0, backbone.width), np.float32)
    return Extraction(features, np.array(kept, np.int64), unreadable, 0, len(kept))


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _embed_chunk(
    source: ImageSource, chunk: Rows, backbone: Backbone
) -> tuple[list[int], list[tuple[int, str]], NDArray[np.float32]]:
    good: list[int] = []
    bad: list[tuple[int, str]] = []
    squares: list[Picture] = []
    for index, outcome in zip(chunk.tolist(), _squares(source, chunk, backbone), strict=True):
        if isinstance(outcome, UnreadableImageError):
            bad.append((index, str(outcome)))
        else:
            good.append(index)
            squares.append(outcome)
    batch = np.stack(squares) if squares else np.empty((0, *[backbone.resolution] * 2, 3), np.uint8)
    return good, bad, backbone.embed(batch)


def _squares(
    source: ImageSource, chunk: Rows, backbone: Backbone
) -> Iterator[Picture | UnreadableImageError]:
    for index in chunk.tolist():
        try:
            raw = source.fetch(index)
            picture = decode(raw, source.locate(index), side=backbone.resolution)
            yield square(picture, backbone.resolution)
        except UnreadableImageError as error:
            yield error
