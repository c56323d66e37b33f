"""The images and the map that the page of a ranking shows beside its record."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mixmood.core.arrays import Array, Picture, Rows
from mixmood.core.records.ranking import PageMaterial, SetPictures, Tile
from mixmood.core.version import package_version
from mixmood.data.images.decode import thumbnail
from mixmood.data.images.pool import FeatureSource
from mixmood.ranking.read import Reading
from mixmood.scores.registry import fit_score

UNLIKE_SIZE = 2.0
"""A warning is given where images are so many times larger."""
MOSTLY = 0.8


class PictureTraits(NamedTuple):
    """Two traits of one picture: its side in pixels, and whether it has no colour."""

    side: float
    is_grey: bool

    @classmethod
    def of(cls, picture: Picture) -> "PictureTraits":
        """The traits of a picture."""
        side = float(np.sqrt(picture.shape[0] * picture.shape[1]))
        red, green, blue = np.moveaxis(picture, -1, 0)
        return cls(side, np.array_equal(red, green) and np.array_equal(red, blue))


@dataclass(frozen=True)
class SetTraits:
    """The median side of some pictures in pixels, and the share without colour."""

    side: float | None
    grey: float | None

    @classmethod
    def of(cls, pictures: Sequence[PictureTraits]) -> "SetTraits":
        """The traits of a set of pictures; None where there are none."""
        if not pictures:
            return cls(None, None)
        sides, is_grey = zip(*pictures, strict=True)
        return cls(float(np.median(sides)), float(np.mean(is_grey)))


def contrasts(labelled: SetTraits, pool: SetTraits) -> tuple[str, ...]:
    """Warnings where the images of a pool have another size or colour than the labelled ones."""
    if labelled.side is None or pool.side is None or labelled.grey is None or pool.grey is None:
        return ()
    found = []
    if max(labelled.side / pool.side, pool.side / labelled.side) >= UNLIKE_SIZE:
        found.append(
            f"images about {pool.side:.0f} pixels a side, the labelled ones "
            f"{labelled.side:.0f}: part of the distance may be sharpness."
        )
    kinds = [_kind(labelled.grey), _kind(pool.grey)]
    if set(kinds) == {"in grey", "in colour"}:
        found.append(
            f"images {kinds[1]}, the labelled ones {kinds[0]}: part of the distance may be "
            "colour alone."
        )
    return tuple(found)


def _kind(grey: float) -> str:
    if grey >= MOSTLY:
        return "in grey"
    return "in colour" if grey <= 1 - MOSTLY else "mixed"


N_FITTED = 200
"""Rows of each set from which the axes are computed; large pools do not weigh more."""


@dataclass(frozen=True)
class Projection:
    """The two main axes of some sets of features.

    Attributes:
        centre: The mean row, which is drawn at (0, 0), shape (d,).
        axes: Orthonormal directions, shape (d, 2).
        variance: The share of all variance along each axis.
    """

    centre: Array
    axes: Array
    variance: tuple[float, float]

    def __call__(self, features: Array) -> Array:
        """The positions of rows on the map, shape (n, 2)."""
        return np.asarray((features - self.centre) @ self.axes)


def principal_axes(sets: Sequence[Array]) -> Projection:
    """The plane in which the sets, taken together, spread most.

    Principal components by the eigenvectors of the inner products of rows or, where there are more
    rows than features (hundreds of pools), of columns. The sign of an axis is arbitrary: it is
    chosen so that the largest entry is positive, and a map does not flip between runs.
    """
    rows = np.concatenate([features[:N_FITTED] for features in sets]).astype(np.float64)
    centre = rows.mean(axis=0)
    spread = rows - centre
    is_long = len(spread) > spread.shape[1]
    products = spread.T @ spread if is_long else spread @ spread.T
    vectors = np.linalg.eigh(products).eigenvectors
    axes = np.zeros((rows.shape[1], 2))
    total = max(float(np.square(spread).sum()), np.finfo(float).tiny)
    for k in range(min(2, rows.shape[1])):
        axis = vectors[:, -1 - k] if is_long else spread.T @ vectors[:, -1 - k]
        length = float(np.linalg.norm(spread @ axis if is_long else axis))
        if length > 1e-9 * np.sqrt(total):
            axes[:, k] = axis / np.linalg.norm(axis) * np.sign(axis[np.abs(axis).argmax()])
    shares = np.square(spread @ axes).sum(axis=0) / total
    return Projection(centre, axes, (float(shares[0]), float(shares[1])))


N_POINTS = 48
"""Points of each set on the map: the page of five pools, with pictures, stays under 2 MB."""
N_EXTREME = 8
MOST_LABELLED = 2000
"""Labelled images that pool images are compared with; it bounds the time."""
LIBRARIES = ("numpy", "scipy", "pillow", "onnxruntime")


def gather_page_material(labelled: Reading, pools: Mapping[str, Reading]) -> PageMaterial:
    """Pictures and map of a ranking whose images have been read."""
    projection = principal_axes([labelled.features, *(pool.features for pool in pools.values())])
    own, traits = _labelled_pictures(labelled, projection)
    compared = labelled.features[:MOST_LABELLED]
    return PageMaterial(
        labelled=own,
        pools={
            name: _pool_pictures(pool, projection, compared, traits) for name, pool in pools.items()
        },
        variance=projection.variance,
        versions={name: package_version(name) or "none" for name in LIBRARIES},
    )


def _labelled_pictures(reading: Reading, projection: Projection) -> tuple[SetPictures, SetTraits]:
    sample = np.arange(min(N_POINTS, len(reading.features)))
    tiles, traits = _tiles(reading, sample, None)
    points = _points(projection, reading.features[sample])
    return SetPictures(tiles, points, nearest=(), farthest=(), warnings=()), traits


def _pool_pictures(
    reading: Reading, projection: Projection, labelled: Array, own: SetTraits
) -> SetPictures:
    fitted = fit_score(labelled, reading.features, family="knn")
    distances = 1 - fitted.fit.pool
    order = np.argsort(distances, kind="stable")
    sample = np.arange(min(N_POINTS, len(reading.features)))
    tiles, traits = _tiles(reading, sample, distances)
    return SetPictures(
        tiles=tiles,
        points=_points(projection, reading.features[sample]),
        nearest=_tiles(reading, order[:N_EXTREME], distances)[0],
        farthest=_tiles(reading, order[::-1][:N_EXTREME], distances)[0],
        warnings=contrasts(own, traits),
    )


def _points(projection: Projection, features: Array) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in projection(features))


def _tiles(
    reading: Reading, rows: Rows, distances: Array | None
) -> tuple[tuple[Tile, ...], SetTraits]:
    """Tiles of some rows of a reading, and the traits of their pictures."""
    indices = reading.sample.rows[rows]
    apart: Iterable[float | None] = (
        [None] * len(rows) if distances is None else distances[rows].tolist()
    )
    if isinstance(reading.pool, FeatureSource):
        name = reading.pool.name
        return tuple(
            Tile(f"{name}[{index}]", None, distance)
            for index, distance in zip(indices.tolist(), apart, strict=True)
        ), SetTraits.of(())
    tiles, traits = [], []
    # One picture at a time: a camera picture takes megabytes.
    for index, picture, distance in zip(
        indices.tolist(), reading.pool.read(indices), apart, strict=True
    ):
        uri = None  # a file may be deleted after the ranking: its tile stays empty
        if isinstance(picture, np.ndarray):
            uri = thumbnail(picture)
            traits.append(PictureTraits.of(picture))
        tiles.append(Tile(reading.pool.locate(index), uri, distance))
    return tuple(tiles), SetTraits.of(traits)
