"""What a view is, what backbones offer, and how blocks become features."""

import numpy as np
import pytest
from tests.fixtures.counted_pool import Means, extract, n_embedded

from mixmood.core.errors import OptionError
from mixmood.features.backbones import onnx_network
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.backbones.view import DEPTHS, View, joined, split
from mixmood.features.extract import Extractor


def test_a_view_has_a_known_depth():
    with pytest.raises(OptionError, match=r"Unknown depth 'midle'\. Did you mean 'middle'"):
        View(96, "midle")


def test_views_come_from_the_cheapest_to_the_dearest():
    views = load_backbone().views()
    assert [str(view) for view in views[:4]] == [
        "96 px, last",
        "96 px, middle",
        "96 px, both",
        "160 px, last",
    ]
    assert len(views) == 9
    assert str(views[-1]) == "224 px, both"
    assert load_backbone(resolution=128).views(128, "middle") == (View(128, "middle"),)


def test_a_depth_that_a_backbone_lacks_is_refused():
    with pytest.raises(OptionError, match="means offers the depth last only; got middle"):
        Means().views(depth="middle")
    with pytest.raises(OptionError, match="untrained-wrn offers the depth last only; got both"):
        load_backbone("untrained-wrn", depth="both")
    with pytest.raises(OptionError, match="takes images of 32 pixels a side only; got 96"):
        load_backbone("untrained-wrn").at(View(96))


def test_all_depths_come_from_one_pass_and_each_alone_has_the_same_values():
    images = np.random.default_rng(0).integers(0, 256, (5, 96, 96, 3), dtype=np.uint8)
    whole = load_backbone(depth="both")
    assert dict(whole.blocks) == {"last": 1280, "middle": 2688}
    blocks = split(whole.embed(images), whole.blocks)
    assert np.array_equal(blocks["last"], load_backbone().embed(images))
    assert np.array_equal(blocks["middle"], load_backbone(depth="middle").embed(images))
    with_last = load_backbone().at(View(96, "middle"), with_last=True)
    assert (with_last.width, list(with_last.blocks)) == (2688, ["last", "middle"])
    assert np.array_equal(with_last.embed(images), whole.embed(images))


def test_the_middle_block_is_a_grid_that_knows_where_something_is():
    left = np.zeros((1, 96, 96, 3), np.uint8)
    left[:, 30:60, :48] = 255
    backbone = load_backbone(depth="middle")
    grids = [backbone.embed(x).reshape(672, 2, 2) for x in (left, left[:, :, ::-1])]
    mirrored, same = (np.abs(grids[0] - grid).mean() for grid in (grids[1][:, :, ::-1], grids[1]))
    assert mirrored < 0.7 * same


def test_a_network_is_held_once_for_all_its_views(monkeypatch):
    opened, open_on_device = [], onnx_network.open_on_device
    monkeypatch.setattr(
        onnx_network, "open_on_device", lambda *a: opened.append(a[0]) or open_on_device(*a)
    )
    first = load_backbone()
    second = first.at(View(224, "both"))
    assert second.network is first.network
    assert second.fingerprint != first.fingerprint
    assert second.fingerprint == first.at(View(224)).fingerprint
    second.embed(np.zeros((1, 224, 224, 3), np.uint8))
    first.embed(np.zeros((1, 96, 96, 3), np.uint8))
    assert len(opened) == 1


def test_signed_roots_of_each_block_have_length_one():
    rng = np.random.default_rng(0)
    blocks = {"last": rng.normal(size=(6, 5)), "middle": 100 * rng.random((6, 8))}
    rows = np.sqrt(np.abs(joined(blocks, "both")))
    assert np.allclose(np.linalg.norm(rows[:, :5], axis=1), 1)
    assert np.allclose(np.linalg.norm(rows[:, 5:], axis=1), 1)
    assert joined(blocks, "last") is blocks["last"], "the last layer alone stays raw"
    nothing = joined({"last": np.zeros((1, 2)), "middle": np.zeros((1, 4))}, "both")
    assert np.array_equal(nothing, np.zeros((1, 6)))


def test_several_views_at_once_read_every_image_once_and_change_no_value(pool, cache):
    views = [View(96, "both"), View(160, "last"), View(224, "middle")]
    backbones = [load_backbone().at(view) for view in views]
    together = Extractor(None).read_each(backbones, pool, range(12))
    assert pool.n_fetched == 12
    for backbone, found in zip(backbones, together, strict=True):
        assert np.array_equal(found.features, extract(pool, range(12), backbone).features)
    cached = Extractor(None, cache=cache)
    stored = [cached.read_each(backbones, pool, range(12)) for _ in range(2)][1]
    assert all(n_embedded(pool, range(12), one, cache=cache) == 0 for one in backbones)
    for found, again in zip(together, stored, strict=True):
        assert np.array_equal(found.features, again.features)


def test_the_cache_holds_blocks_so_that_a_new_depth_computes_only_what_is_new(pool, cache):
    both, last = load_backbone(depth="both"), load_backbone()
    extract(pool, range(5), both, cache=cache)
    for depth in DEPTHS:
        assert n_embedded(pool, range(5), load_backbone(depth=depth), cache=cache) == 0
    extract(pool, range(5, 9), last, cache=cache)
    assert n_embedded(pool, range(9), both, cache=cache) == 4
    assert n_embedded(pool, range(9), last, cache=cache) == 0
    larger = last.at(View(160))
    assert n_embedded(pool, range(9), larger) == 9
    other = Extractor(None, cache=cache).read_each([last, larger], pool, range(9))
    assert np.array_equal(other[0].features, extract(pool, range(9), last).features)
    assert n_embedded(pool, range(9), larger, cache=cache) == 0


def test_a_sample_holds_raw_blocks_and_joins_them(pool):
    sample = Extractor(load_backbone(depth="both"), 1).read(pool, range(4))
    assert sample.features.shape == (4, 3968)
    assert np.array_equal(sample.last, Extractor(load_backbone(), 1).read(pool, range(4)).features)
    assert np.array_equal(sample.at("last").features, sample.last)
    whole = sample + Extractor(load_backbone(depth="both"), 1).read(pool, [4, 4])
    assert whole.features.shape == (6, 3968)
    assert (whole.n_distinct, len(set(whole.digests))) == (5, 5)
    assert np.array_equal(whole.where(whole.rows < 2).features, sample.features[:2])
