"""The images and the map that the page of a ranking shows beside its record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np

from mixmood.core.arrays import Array, Picture, Rows
from mixmood.core.records.ranking import PageMaterial, SetPictures, Tile
from mixmood.core.version import package_version
from mixmood.data.images.decode import thumbnail
from mixmood.data.images.pool import FeatureSource
from mixmood.features.reading import Reading
from mixmood.scores.registry import fit_score

UNLIKE_SIZE = 2.0  # a warning is given where images are so many times larger
MOSTLY = 0.8


Traits = tuple[float, bool]


def traits_of(picture: Picture) -> Traits:
    """The side of a picture in pixels, and whether it has no colour."""
    red, green, blue = np.moveaxis(picture, -1, 0)
    side = float(np.sqrt(picture.shape[0] * picture.shape[1]))
    return side, np.array_equal(red, green) and np.array_equal(red, blue)


def contrasts(labelled: Sequence[Traits], pool: Sequence[Traits]) -> tuple[str, ...]:
    """Warnings where the images of a pool have another size or colour than the labelled ones."""
    if not labelled or not pool:
        return ()
    (own_side, own_kind), (side, kind) = _typical(labelled), _typical(pool)
    found = []
    if max(own_side / side, side / own_side) >= UNLIKE_SIZE:
        found.append(
            f"images about {side:.0f} pixels a side, the labelled ones "
            f"{own_side:.0f}: part of the distance may be sharpness."
        )
    if {own_kind, kind} == {"in grey", "in colour"}:
        found.append(
            f"images {kind}, the labelled ones {own_kind}: part of the distance may be colour "
            "alone."
        )
    return tuple(found)


def _typical(pictures: Sequence[Traits]) -> tuple[float, str]:
    """The median side of some pictures, and whether most of them have colour."""
    sides, is_grey = zip(*pictures, strict=True)
    grey = float(np.mean(is_grey))
    kind = "in grey" if grey >= MOSTLY else "in colour" if grey <= 1 - MOSTLY else "mixed"
    return float(np.median(sides)), kind


N_FITTED = 200  # rows of each set from which the axes are computed; large pools do not weigh more


@dataclass(frozen=True)
class Projection:
    """The two main axes of some sets of features."""

    centre: Array  # the mean row, which is drawn at (0, 0)
    axes: Array  # orthonormal directions, shape (d, 2)
    variance: tuple[float, float]  # the share of all variance along each axis

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


N_POINTS = 48  # of each set on the map: a page of five pools, with pictures, stays under 2 MB
N_EXTREME = 8
MOST_COMPARED_WITH = 2000  # labelled images that images of pools are compared with
LIBRARIES = ("numpy", "scipy", "pillow", "onnxruntime")


def gather_page_material(labelled: Reading, pools: Mapping[str, Reading]) -> PageMaterial:
    """Pictures and map of a ranking whose images have been read."""
    projection = principal_axes([labelled.features, *(pool.features for pool in pools.values())])
    own, traits = _pictures(labelled, projection)
    compared = labelled.features[:MOST_COMPARED_WITH]
    shown = {}
    for name, pool in pools.items():
        distances = 1 - fit_score(compared, pool.features, family="knn").fit.pool
        order = np.argsort(distances, kind="stable")
        pictures, others = _pictures(pool, projection, distances)
        shown[name] = replace(
            pictures,
            nearest=_tiles(pool, order[:N_EXTREME], distances)[0],
            farthest=_tiles(pool, order[::-1][:N_EXTREME], distances)[0],
            warnings=contrasts(traits, others),
        )
    versions = {name: package_version(name) or "none" for name in LIBRARIES}
    return PageMaterial(own, shown, projection.variance, versions)


def _pictures(
    reading: Reading, projection: Projection, distances: Array | None = None
) -> tuple[SetPictures, list[Traits]]:
    """The first images of a reading as they are on the map, and their traits."""
    sample = np.arange(min(N_POINTS, len(reading.sample)))
    tiles, traits = _tiles(reading, sample, distances)
    points = tuple((float(x), float(y)) for x, y in projection(reading.features[sample]))
    return SetPictures(tiles, points, nearest=(), farthest=(), warnings=()), traits


def _tiles(
    reading: Reading, rows: Rows, distances: Array | None
) -> tuple[tuple[Tile, ...], list[Traits]]:
    """Tiles of some rows of a reading, and the traits of their pictures."""
    pool, indices = reading.pool, reading.sample.rows[rows]
    apart = [None] * len(rows) if distances is None else distances[rows].tolist()
    # One picture at a time: a camera picture takes megabytes.
    pictures = repeat(None) if isinstance(pool, FeatureSource) else pool.read(indices)
    tiles, traits = [], []
    for index, distance, picture in zip(indices.tolist(), apart, pictures, strict=False):
        uri = None  # a file may be deleted after the ranking: its tile stays empty
        if isinstance(picture, np.ndarray):
            uri = thumbnail(picture)
            traits.append(traits_of(picture))
        tiles.append(Tile(pool.locate(index), uri, distance))
    return tuple(tiles), traits
