"""Images and a map, which the page of a ranking shows beside its record."""

from collections.abc import Iterable, Mapping

import numpy as np

from mixmood.core.arrays import Array, Rows
from mixmood.core.records.page_material import PageMaterial, SetPictures, Tile
from mixmood.core.version import package_version
from mixmood.data.images.decode import thumbnail
from mixmood.data.images.pool import FeatureSource
from mixmood.ranking.pictures.appearance import PictureTraits, SetTraits, contrasts
from mixmood.ranking.pictures.projection import Projection, principal_axes
from mixmood.ranking.reading import Reading
from mixmood.scores.registry import fit_score

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
