"""What every backbone promises: sizes, names, and features that depend on the image alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mixmood.core.errors import OptionError, ShapeError
from mixmood.features.backbones.backbone import check_resolution
from mixmood.features.backbones.devices import open_on_device
from mixmood.features.backbones.registry import load_backbone


@pytest.fixture(scope="module")
def backbone():
    return load_backbone()


@pytest.fixture(scope="module")
def batch():
    return np.random.default_rng(0).integers(0, 256, size=(37, 96, 96, 3), dtype=np.uint8)


def test_features_do_not_depend_on_the_batch_by_a_single_bit(backbone, batch):
    together = backbone.embed(batch)
    for size in (1, 3, 16):
        parts = [backbone.embed(batch[i : i + size]) for i in range(0, len(batch), size)]
        assert np.array_equal(np.concatenate(parts), together)


def test_features_do_not_depend_on_how_many_threads_ask(backbone, batch):
    alone = backbone.embed(batch)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(alone, row) for row in pool.map(backbone.embed, [batch] * 8))


def test_a_record_can_tell_which_network_made_the_features(backbone):
    about = backbone.describe()
    assert (about["name"], about["resolution"], about["width"]) == ("efficientnet-lite0", 96, 1280)
    assert about["preprocessing"] == "pillow-bilinear-square"
    assert len(about["weights_sha256"]) == 64


def test_the_fingerprint_changes_with_the_resolution(backbone):
    assert load_backbone(resolution=96).fingerprint == backbone.fingerprint
    assert load_backbone(resolution=128).fingerprint != backbone.fingerprint


def test_what_is_told_of_the_networks_in_the_package_is_true_of_their_graphs(backbone):
    """The width and the output are told, so that cached features need no loading."""
    first = open_on_device(backbone.network)[0].get_outputs()[0]
    assert first.name == backbone.graph_names()[1]
    assert first.shape[1] == backbone.width
    assert backbone.embed(np.zeros((1, 96, 96, 3), np.uint8)).shape == (1, backbone.width)


def test_an_empty_batch_has_no_features(backbone):
    assert backbone.embed(np.empty((0, 96, 96, 3), np.uint8)).shape == (0, 1280)


def test_other_resolutions_give_as_many_features():
    small = load_backbone(resolution=64)
    assert small.embed(np.zeros((2, 64, 64, 3), np.uint8)).shape == (2, 1280)


@pytest.mark.parametrize("side", [32, 0, -96, 100])
def test_a_resolution_without_meaning_is_refused(side):
    with pytest.raises(
        OptionError, match=rf"multiple of 32 and at least 64, such as 96, 160, 224; got {side}"
    ):
        check_resolution(side)


def test_an_unknown_backbone_gets_the_nearest_name():
    with pytest.raises(OptionError, match="Did you mean 'efficientnet-lite0'"):
        load_backbone("efficientnet-lite")


def test_a_batch_of_the_wrong_shape_or_type_is_refused(backbone):
    with pytest.raises(ShapeError, match=r"\(n, 96, 96, 3\); got uint8 \(1, 64, 64, 3\)"):
        backbone.embed(np.zeros((1, 64, 64, 3), np.uint8))
    with pytest.raises(ShapeError, match="got float32"):
        backbone.embed(np.zeros((1, 96, 96, 3), np.float32))
