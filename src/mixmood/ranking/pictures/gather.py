"""What the page of a ranking needs beyond its numbers: pictures, a map, and coverage."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows
from mixmood.core.records.page_material import PageMaterial, SetPictures, Tile
from mixmood.data.pools.pool import FeatureSource, Labels
from mixmood.ranking.pictures.appearance import PictureTraits, SetTraits, contrasts
from mixmood.ranking.pictures.projection import Projection, principal_axes
from mixmood.ranking.pictures.thumbnail import thumbnail
from mixmood.ranking.reading import Reading

N_POINTS = 48
"""Points of each set on the map: with their pictures, five pools stay under 2 MB."""
N_EXTREME = 8
MOST_LABELLED = 2000
"""Labelled images among which nearest ones are sought: bounds the time, not the meaning."""
LIBRARIES = ("numpy", "scipy", "pillow", "onnxruntime")


def gather(labelled: Reading, pools: Mapping[str, Reading]) -> PageMaterial:
    """Pictures, map and coverage of a ranking whose images have been read.

    `rank(..., observe=lambda *sets: found.append(gather(*sets)))` hands it what was read.
    """
    projection = principal_axes([labelled.features, *(pool.features for pool in pools.values())])
    base = _Base(labelled.features[:MOST_LABELLED], labelled.kept, labelled.pool.labels)
    own_view, own_sight = _labelled_view(labelled, projection, base)
    views = {name: _pool_view(pool, projection, base, own_sight) for name, pool in pools.items()}
    return PageMaterial(
        labelled=own_view,
        pools=views,
        variance=projection.variance,
        classes=base.labels.names if base.labels else (),
        versions={name: version(name) for name in LIBRARIES},
    )


@dataclass(frozen=True)
class _Base:
    """The labelled images that others are compared with."""

    features: Array
    kept: Rows
    labels: Labels | None

    def coverage(self, neighbours: Rows) -> tuple[float, ...] | None:
        """The share of each class among some labelled images."""
        if self.labels is None:
            return None
        codes = self.labels.codes[self.kept[neighbours]]
        tally = np.bincount(codes, minlength=len(self.labels.names))
        return tuple((tally / max(len(codes), 1)).tolist())


def nearest_rows(features: Array, others: Array) -> tuple[Rows, NDArray[np.float64]]:
    """For each row, the nearest of the others and the Euclidean distance to it, shapes (n,)."""
    found = [_nearest_in_block(features[i : i + 512], others) for i in range(0, len(features), 512)]
    rows, distances = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(distances)


def _nearest_in_block(features: Array, others: Array) -> tuple[Rows, NDArray[np.float64]]:
    # A matrix product, not a subtraction of all pairs: this is for looking at, not for numbers.
    squared = np.square(others).sum(axis=1) - 2 * (features @ others.T)
    rows = squared.argmin(axis=1)
    return rows, np.linalg.norm(features.astype(np.float64) - others[rows], axis=1)


def _labelled_view(
    reading: Reading, projection: Projection, base: _Base
) -> tuple[SetPictures, SetTraits]:
    sample = np.arange(min(N_POINTS, len(reading.features)))
    tiles, sight = _tiles(reading, sample, None)
    return SetPictures(
        tiles=tiles,
        points=_points(projection, reading.features[sample]),
        nearest=(),
        farthest=(),
        coverage=base.coverage(np.arange(len(base.features))),
        warnings=(),
    ), sight


def _pool_view(
    reading: Reading, projection: Projection, base: _Base, own: SetTraits
) -> SetPictures:
    neighbours, distances = nearest_rows(reading.features, base.features)
    order = np.argsort(distances, kind="stable")
    sample = np.arange(min(N_POINTS, len(reading.features)))
    tiles, sight = _tiles(reading, sample, distances)
    return SetPictures(
        tiles=tiles,
        points=_points(projection, reading.features[sample]),
        nearest=_tiles(reading, order[:N_EXTREME], distances)[0],
        farthest=_tiles(reading, order[::-1][:N_EXTREME], distances)[0],
        coverage=base.coverage(neighbours),
        warnings=contrasts(own, sight),
    )


def _points(projection: Projection, features: Array) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in projection(features))


def _tiles(
    reading: Reading, rows: Rows, distances: NDArray[np.float64] | None
) -> tuple[tuple[Tile, ...], SetTraits]:
    """Tiles of some rows of a reading, and what their pictures look like as a whole."""
    indices = reading.kept[rows]
    apart: Iterable[float | None] = (
        [None] * len(rows) if distances is None else distances[rows].tolist()
    )
    if isinstance(reading.pool, FeatureSource):
        name = reading.pool.name
        return tuple(
            Tile(f"{name}[{index}]", None, distance)
            for index, distance in zip(indices.tolist(), apart, strict=True)
        ), SetTraits.of(())
    tiles, looks = [], []
    # One picture at a time: those of a camera take megabytes each.
    for index, picture, distance in zip(
        indices.tolist(), reading.pool.read(indices), apart, strict=True
    ):
        uri = None  # a file can go between the ranking and this: its tile stays empty
        if isinstance(picture, np.ndarray):
            uri = thumbnail(picture)
            looks.append(PictureTraits.of(picture))
        tiles.append(Tile(reading.pool.locate(index), uri, distance))
    return tuple(tiles), SetTraits.of(looks)
