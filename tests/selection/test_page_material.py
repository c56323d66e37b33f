"""What the page of a filter shows."""

import numpy as np
import pytest

import mixmood
from mixmood.selection.page_material import N_BINS, N_TILES, gather_filter_material


@pytest.fixture(scope="module")
def arrays():
    """Light labelled images, and a pool of light and dark ones, small enough to embed quickly."""
    rng = np.random.default_rng(0)
    light = rng.integers(128, 256, (36, 16, 16, 3)).astype(np.uint8)
    dark = rng.integers(0, 80, (20, 16, 16, 3)).astype(np.uint8)
    return light[:16], np.concatenate([light[16:], dark])


@pytest.fixture(scope="module")
def kept(arrays, tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    return mixmood.filter(*arrays, keep=12, resolution=64, cache=cache)


def test_a_gallery_shows_kept_and_dropped_images_in_the_order_of_their_scores(kept):
    material = gather_filter_material(
        kept._job, kept._decided, kept.record.threshold, kept._labelled
    )
    (gallery,) = material.galleries
    assert gallery.name is None
    assert gallery.n_kept == 12
    assert len(gallery.labelled) == len(gallery.kept) == len(gallery.borderline) == N_TILES
    for row in (gallery.kept, gallery.borderline, gallery.dropped):
        scores = [tile.score for tile in row]
        assert scores == sorted(scores, reverse=True)
    assert all(tile.is_kept for tile in gallery.kept)
    assert not any(tile.is_kept for tile in gallery.dropped)
    assert {tile.is_kept for tile in gallery.borderline} == {True, False}
    assert all(tile.uri.startswith("data:image/webp") for tile in gallery.kept)


def test_every_image_is_in_the_histogram(kept):
    histogram = gather_filter_material(kept._job, kept._decided, None, None).histogram
    assert (sum(histogram.labelled), sum(histogram.pool), sum(histogram.kept)) == (16, 40, 12)
    assert len(histogram.pool) == N_BINS
    assert all(k <= n for k, n in zip(histogram.kept, histogram.pool, strict=True))


def test_the_result_shows_itself(kept, tmp_path):
    page = kept.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == page
    assert "12 of 40 images of array kept (30 %)." in page
    assert repr(kept).startswith("<Kept 12 of 40 images of array; useful share ")
    assert "12 of 40 images" in kept._repr_html_()
    assert len(kept.paths) == kept.is_kept.sum() == 12
    assert kept.scores.shape == (40,)
    assert kept.to_json() == kept.record.to_json()


def test_features_have_no_galleries(rng):
    rows = rng.normal(size=(60, 8))
    found = mixmood.filter(rows[:20], rows[20:], keep=4)
    assert gather_filter_material(found._job, found._decided, None, found._labelled).galleries == ()
    assert "Images to look at before training" not in found.to_html()
