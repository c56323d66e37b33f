"""The untrained Wide-ResNet: its shape, its statistics from the batch, its determinism."""

import numpy as np
import onnxruntime
import pytest

import mixmood
from mixmood.core.errors import OptionError
from mixmood.features.backbones import untrained_wrn
from mixmood.features.backbones.registry import load_backbone

onnx = pytest.importorskip("onnx", reason="building graphs needs the extra train")


@pytest.fixture(scope="module")
def backbone():
    return load_backbone("untrained-wrn")


@pytest.fixture(scope="module")
def features(backbone):
    images = np.random.default_rng(0).integers(0, 256, size=(4, 32, 32, 3), dtype=np.uint8)
    return backbone.embed(images), backbone.embed(images[:2])


def kernels(model):
    return [
        onnx.numpy_helper.to_array(tensor)
        for tensor in onnx.load_from_string(model).graph.initializer
        if len(tensor.dims) == 4 and tensor.dims[2] in (1, 3) and tensor.dims[0] > 1
    ]


def test_it_has_three_groups_of_four_blocks_and_512_features(backbone):
    """One first filter, two in each of twelve blocks, and a shortcut where the width changes."""
    shapes = [kernel.shape for kernel in kernels(untrained_wrn.build())]
    assert len(shapes) == 1 + 3 * 4 * 2 + 3
    assert shapes[0] == (64, 3, 3, 3)
    assert {shape[0] for shape in shapes} == {64, 128, 256, 512}
    assert backbone.width == 512


def test_its_weights_have_the_variance_of_he():
    for kernel in kernels(untrained_wrn.build()):
        assert kernel.var() == pytest.approx(2 / np.prod(kernel.shape[1:]), rel=0.15)


def test_the_same_image_has_other_features_among_other_companions(features):
    four, two = features
    assert not np.allclose(four[:2], two, rtol=1e-2)


def test_the_last_norm_takes_its_statistics_from_the_batch(features):
    """A standard normal value has a positive part of 0.40 on average."""
    assert features[0].mean() == pytest.approx(0.4, abs=0.15)


def test_it_says_that_companions_matter_and_comes_in_batches_of_64(backbone):
    assert backbone.is_batch_dependent
    assert (backbone.batch_size, backbone.resolution) == (64, 32)


def test_reading_does_not_stop_early_because_that_would_cut_other_batches(rng):
    images = rng.integers(0, 256, size=(16, 8, 8, 3), dtype=np.uint8)
    report = mixmood.rank(
        images[:8],
        {"pool": images[8:]},
        backbone="untrained-wrn",
        until=0.9,
        sample_size=4,
        draws=2,
        cache=None,
        probe=False,
    )
    assert any("All images were read: untrained-wrn makes features" in n for n in report.notes)


def test_the_seed_decides_the_weights(monkeypatch):
    for name, small in {"BLOCKS": 1, "FIRST": 4, "WIDTH": 32}.items():
        monkeypatch.setattr(untrained_wrn, name, small)
    first, again, other = (untrained_wrn.build.__wrapped__(seed) for seed in (0, 0, 1))
    assert first == again != other


def test_the_norm_is_the_one_that_torch_uses_in_training(rng):
    torch = pytest.importorskip("torch")
    graph = untrained_wrn.RandomGraph(rng=rng)
    pixels = graph.images([0, 0, 0], [1, 1, 1])
    model = graph.save("norm", {"features": (graph.pool(graph.norm_relu(pixels)), 3)}, "norm")
    images = rng.integers(0, 256, size=(5, 8, 8, 3), dtype=np.uint8)
    (found,) = onnxruntime.InferenceSession(model).run(None, {"images": images})
    x = torch.from_numpy(images).permute(0, 3, 1, 2).float()
    normed = torch.nn.functional.batch_norm(x, None, None, training=True, eps=1e-5)
    assert np.allclose(found, normed.relu().mean(dim=(2, 3)).numpy(), atol=1e-5)


def test_a_resolution_without_meaning_is_refused():
    with pytest.raises(OptionError, match="at least 32.*; got 16. Leave it out, or choose 32"):
        load_backbone("untrained-wrn", 16)
