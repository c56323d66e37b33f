"""Wide-ResNet-50-2: the same function as torch's layers, and where its weights come from."""

import hashlib
import sys

import numpy as np
import pytest

from mixmood.core.errors import BackboneError, MissingExtraError, OptionError, OutputError
from mixmood.features.backbones import wide_resnet
from mixmood.features.backbones import wide_resnet as download
from mixmood.features.backbones.registry import load_backbone

torch = pytest.importorskip("torch", reason="reading the weights needs the extra train")
F = torch.nn.functional

NARROW = 4


def expected_shapes(first=wide_resnet.FIRST):
    """The shape of every tensor, by its official name."""
    shapes = {}

    def layer(conv, norm, *shape):
        shapes[f"{conv}.weight"] = shape
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{norm}.{part}"] = shape[:1]

    layer("conv1", "bn1", first, 3, 7, 7)
    before = first
    for name, _, planes in wide_resnet.bottlenecks(first):
        layer(f"{name}.conv1", f"{name}.bn1", planes * 2, before, 1, 1)
        layer(f"{name}.conv2", f"{name}.bn2", planes * 2, planes * 2, 3, 3)
        layer(f"{name}.conv3", f"{name}.bn3", planes * 4, planes * 2, 1, 1)
        if name.endswith(".0"):
            layer(f"{name}.downsample.0", f"{name}.downsample.1", planes * 4, before, 1, 1)
        before = planes * 4
    return shapes


def random_weights(first=NARROW):
    """A narrow network under the official names, with batch-norms that are not trivial."""
    rng = np.random.default_rng(0)
    weights = {}
    for name, shape in expected_shapes(first).items():
        values = rng.normal(size=shape) * (2 / np.prod(shape[1:], initial=1)) ** 0.5
        if len(shape) == 1:
            values = rng.uniform(0.5, 1.5, size=shape)
        weights[name] = values.astype(np.float32)
    return weights


def in_torch(weights, images):
    """The network in torch, batch-norms left in, to compare with."""
    tensors = {name: torch.from_numpy(value) for name, value in weights.items()}

    def layer(x, conv, norm, **kinds):
        statistics = [
            tensors[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
        ]
        return F.batch_norm(F.conv2d(x, tensors[f"{conv}.weight"], **kinds), *statistics, eps=1e-5)

    x = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    x = (x - mean.view(3, 1, 1)) / deviation.view(3, 1, 1)
    x = F.max_pool2d(F.relu(layer(x, "conv1", "bn1", stride=2, padding=3)), 3, 2, 1)
    for stage, n_blocks in enumerate((3, 4, 6, 3), start=1):
        for block in range(n_blocks):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            inner = F.relu(layer(x, f"{name}.conv1", f"{name}.bn1"))
            inner = F.relu(layer(inner, f"{name}.conv2", f"{name}.bn2", stride=stride, padding=1))
            inner = layer(inner, f"{name}.conv3", f"{name}.bn3")
            if block == 0:
                x = layer(x, f"{name}.downsample.0", f"{name}.downsample.1", stride=stride)
            x = F.relu(inner + x)
    return x.mean(dim=(2, 3)).numpy()


@pytest.fixture
def placed(monkeypatch):
    """Puts the random weights where the official file belongs, with a fitting checksum."""
    monkeypatch.setattr(wide_resnet, "FIRST", NARROW)
    path = download.weights_directory() / "wide_resnet50_2-95faca4d.pth"
    state = {name: torch.from_numpy(value).half() for name, value in random_weights().items()}
    torch.save(state, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(wide_resnet, "SHA256_PREFIX", digest[:8])
    return path


def test_the_graph_computes_what_torch_computes(rng):
    weights = random_weights()
    images = rng.integers(0, 256, size=(3, 96, 96, 3), dtype=np.uint8)
    backbone = wide_resnet.OnnxBackbone("narrow", wide_resnet.build(weights, NARROW), 96)
    wanted = in_torch(weights, images)
    assert backbone.width == NARROW * 32
    assert np.allclose(backbone.embed(images), wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max())


def test_features_do_not_depend_on_the_batch_by_a_single_bit(rng):
    images = rng.integers(0, 256, size=(9, 64, 64, 3), dtype=np.uint8)
    model = wide_resnet.build(random_weights(), NARROW)
    backbone = wide_resnet.OnnxBackbone("narrow", model, 64)
    alone = np.concatenate([backbone.embed(images[i : i + 1]) for i in range(9)])
    assert np.array_equal(alone, backbone.embed(images))


def test_the_official_network_has_its_known_number_of_parameters():
    """68,883,240 with the classifier of 2048 x 1000 + 1000, as published."""
    shapes = expected_shapes()
    n_trained = sum(int(np.prod(s)) for name, s in shapes.items() if "running" not in name)
    assert n_trained + 2048 * 1000 + 1000 == 68_883_240


def test_a_file_placed_by_hand_is_used_and_the_second_use_needs_no_torch(placed, monkeypatch):
    first = load_backbone("wide-resnet50-2")
    placed.unlink()
    monkeypatch.setattr(wide_resnet, "read_weights", None)
    second = load_backbone("wide-resnet50-2")
    assert first.fingerprint == second.fingerprint
    assert (second.name, second.resolution) == ("wide-resnet50-2", 96)


def test_weights_stored_in_half_precision_are_widened(placed):
    assert wide_resnet.read_weights(placed)["conv1.weight"].dtype == np.float32


def test_a_damaged_file_is_removed_and_told(placed):
    placed.write_bytes(placed.read_bytes()[:-1])
    with pytest.raises(BackboneError, match=r"sha256 must begin with .* was removed"):
        load_backbone("wide-resnet50-2")
    assert not placed.exists()


def test_without_a_network_the_message_names_the_file_and_its_place(monkeypatch):
    monkeypatch.setattr(wide_resnet, "URL", "http://127.0.0.1:9/wide_resnet50_2-95faca4d.pth")
    with pytest.raises(
        BackboneError, match=r"could not be fetched from .* place it at .*/weights/wide_resnet50_2"
    ):
        load_backbone("wide-resnet50-2")
    assert not list(download.weights_directory().iterdir())


def test_a_place_that_cannot_be_made_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MIXMOOD_CACHE", str(tmp_path / "file"))
    with pytest.raises(OutputError, match=r"Cannot make the folder .*/weights: .* MIXMOOD_CACHE"):
        load_backbone("wide-resnet50-2")
    assert not wide_resnet.is_on_this_machine()  # `auto` compares the other backbones


def test_without_the_packages_the_extra_is_named(placed, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"The first use of .*mixmood\[train\]"):
        wide_resnet.read_weights(placed)


def test_the_smallest_resolution_holds_here_too():
    with pytest.raises(OptionError, match="at least 64.*; got 32"):
        load_backbone("wide-resnet50-2", 32)
