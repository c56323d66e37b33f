"""What a page shows beyond the numbers: pictures, map, coverage."""

import io
import weakref
from base64 import b64decode

import numpy as np
import pytest
from PIL import Image

import mixmood
from mixmood.core.errors import UnreadableImageError
from mixmood.data.images.decode import THUMBNAIL_SIDE, thumbnail
from mixmood.data.readers.array import ImageArray, array_pool
from mixmood.features.extract import Extractor
from mixmood.features.reading import Reading
from mixmood.features.sample import Sample
from mixmood.ranking.pictures import (
    N_EXTREME,
    N_POINTS,
    contrasts,
    gather_page_material,
    principal_axes,
    traits_of,
)


def noise(rng, n, side=8):
    return rng.integers(0, 256, (n, side, side, 3), dtype=np.uint8)


def reading(features, name="pool", images=None, labels=None, kept=None):
    """What `rank` has read of a pool: rows of features, and which image each of them is."""
    rows = features.astype(np.float32) if images is None else images
    pool = array_pool(rows, name, labels)
    sample = Sample(
        pool, np.arange(len(features)) if kept is None else kept, {"last": features}, len(rows)
    )
    return Reading(sample, sample.rows, len(rows), Extractor(None))


def opened(uri):
    return Image.open(io.BytesIO(b64decode(uri.partition(",")[2])))


def test_a_thumbnail_is_small_and_keeps_the_shape_of_its_picture(rng):
    uri = thumbnail(rng.integers(0, 256, (100, 400, 3), dtype=np.uint8))
    assert opened(uri).size == (THUMBNAIL_SIDE, THUMBNAIL_SIDE // 4)
    assert uri.startswith("data:image/webp;base64,")
    assert len(uri) < 4500


def test_a_thumbnail_does_not_grow_a_small_picture(rng):
    assert opened(thumbnail(noise(rng, 1)[0])).size == (8, 8)


def test_the_first_axis_is_the_longest_and_shares_are_of_all_variance(rng):
    """Variances 9, 4 and 1 along the axes of the space: shares 9/14 and 4/14."""
    features = rng.normal(size=(200, 3))
    features -= features.mean(axis=0)
    features = np.linalg.qr(features)[0] * [1.0, 3.0, 2.0]
    projection = principal_axes([features])
    assert projection.variance == pytest.approx((9 / 14, 4 / 14))
    np.testing.assert_allclose(projection.axes, [[0, 0], [1, 0], [0, 1]], atol=1e-9)
    np.testing.assert_allclose(projection(features), features[:, 1:], atol=1e-9)


def test_a_large_pool_has_no_more_say_in_the_map_than_a_small_one(rng):
    small, large = rng.normal(5, size=(200, 3)), rng.normal(size=(200, 3))
    once = principal_axes([small, large])
    many = principal_axes([small, np.concatenate([large, rng.normal(9, size=(5000, 3))])])
    np.testing.assert_array_equal(once.axes, many.axes)


@pytest.mark.parametrize("features", [np.ones((10, 4)), np.arange(10.0)[:, None]])
def test_features_without_two_directions_still_have_a_map(features):
    projection = principal_axes([features])
    assert np.isfinite(projection(features)).all()
    assert projection.variance[1] == 0


def test_the_gallery_shows_the_images_most_and_least_like_the_labelled_ones(rng):
    """By the angle, not by the length: a blurred image has short features and is not near."""
    labelled = reading(np.abs(rng.normal(size=(20, 4))) + np.array([9, 0, 0, 0]))
    alike = np.abs(rng.normal(size=(30, 4))) + np.array([9, 0, 0, 0])
    foreign = np.abs(rng.normal(size=(30, 4))) + np.array([0, 9, 0, 0])
    pool = reading(np.concatenate([alike, 0.01 * foreign]), images=noise(rng, 60))
    pictures = gather_page_material(labelled, {"pool": pool}).pools["pool"]
    places = [
        [int(tile.place[5:-1]) for tile in row] for row in (pictures.nearest, pictures.farthest)
    ]
    assert max(places[0]) < 30 <= min(places[1])
    distances = [tile.distance for tile in (*pictures.nearest, *reversed(pictures.farthest))]
    assert distances == sorted(distances)
    assert len(pictures.tiles) == len(pictures.points) == N_POINTS


def test_rows_are_shown_by_the_image_that_they_came_from(rng):
    """Row 0 was image 3: unreadable ones before it had been passed over."""
    images = np.stack([np.full((8, 8, 3), 50 * i, np.uint8) for i in range(5)])
    pool = reading(rng.normal(size=(2, 3)), images=images, kept=np.array([3, 1]))
    view = gather_page_material(reading(rng.normal(size=(20, 3))), {"pool": pool}).pools["pool"]
    assert [tile.place for tile in view.tiles] == ["pool[3]", "pool[1]"]
    assert np.asarray(opened(view.tiles[0].uri)).mean() == pytest.approx(150, abs=4)


def test_features_have_points_and_no_pictures(rng):
    material = gather_page_material(
        reading(rng.normal(size=(9, 2))), {"a": reading(rng.normal(size=(9, 2)))}
    )
    assert {tile.uri for tile in material.pools["a"].tiles} == {None}
    assert len(material.pools["a"].points) == 9


def test_an_image_that_has_gone_since_leaves_an_empty_tile(rng, monkeypatch):
    def gone(self, index):
        raise UnreadableImageError("gone")

    monkeypatch.setattr(ImageArray, "fetch", gone)
    pool = reading(rng.normal(size=(9, 2)), images=noise(rng, 9))
    view = gather_page_material(reading(rng.normal(size=(9, 2))), {"a": pool}).pools["a"]
    assert {tile.uri for tile in view.tiles} == {None}


def test_pictures_are_held_one_at_a_time(rng, monkeypatch):
    """Sixteen pictures of twelve megapixels took 735 MB; of each, a thumbnail is enough."""
    seen, most = [], []

    def fetch(self, index):
        picture = noise(rng, 1)[0]
        seen.append(weakref.ref(picture))
        most.append(sum(ref() is not None for ref in seen))
        return picture

    monkeypatch.setattr(ImageArray, "fetch", fetch)
    pool = reading(rng.normal(size=(30, 2)), images=noise(rng, 30))
    gather_page_material(reading(rng.normal(size=(9, 2))), {"a": pool})
    assert len(seen) == 30 + 2 * N_EXTREME
    assert max(most) <= 3


def looks(pictures):
    return [traits_of(picture) for picture in pictures]


def test_sizes_and_colours_that_differ_are_told(rng):
    colour, grey = noise(rng, 5, 32), np.repeat(noise(rng, 5, 8)[..., :1], 3, axis=-1)
    small_and_grey = contrasts(looks(colour), looks(grey))
    assert small_and_grey[0].startswith("images about 8 pixels a side, the labelled ones 32")
    assert small_and_grey[1].startswith("images in grey, the labelled ones in colour")
    assert contrasts(looks(colour), looks(colour)) == ()
    assert contrasts(looks([]), looks(grey)) == ()


def test_a_set_of_both_kinds_is_neither_grey_nor_in_colour(rng):
    half = [*noise(rng, 2), *np.repeat(noise(rng, 2)[..., :1], 3, axis=-1)]
    assert contrasts(looks(half), looks(noise(rng, 4))) == ()


def test_the_same_readings_give_the_same_extras(rng):
    sets = reading(rng.normal(size=(30, 4))), {"a": reading(rng.normal(size=(30, 4)))}
    assert gather_page_material(*sets) == gather_page_material(*sets)


@pytest.mark.slow
def test_five_pools_of_noise_the_worst_to_compress_stay_under_two_megabytes(rng):
    from mixmood.report.ranking.page import ranking_page

    def worst(name):
        return reading(rng.normal(size=(60, 4)).astype(np.float32), name, noise(rng, 60, 64))

    pools = {f"pool {k}": worst(f"pool {k}") for k in range(5)}
    labelled = worst("labelled")
    record = mixmood.rank(labelled.features, {n: p.features for n, p in pools.items()})
    page = ranking_page(record, gather_page_material(labelled, pools))
    assert 500_000 < len(page.encode()) < 2_000_000
