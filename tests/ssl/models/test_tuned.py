"""The fine-tuned backbone begins as the frozen one with its head."""

import sys

import numpy as np
import pytest
import torch

from mixmood.core.errors import MissingExtraError, OptionError
from mixmood.features.backbones.registry import efficientnet_lite0
from mixmood.heads import fit_head
from mixmood.ssl.models.registry import TunedSpec, model_spec
from mixmood.ssl.models.tuned import TunedNetwork
from mixmood.ssl.plan import TrainingPlan
from mixmood.ssl.train import train

SIDE = 64


@pytest.fixture(scope="module")
def images():
    """Red and blue noise, uint8, shape (8, 64, 64, 3), and their classes."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 100, (8, SIDE, SIDE, 3), dtype=np.uint8)
    codes = np.arange(8) % 2
    pixels[codes == 0, ..., 0] += 150
    pixels[codes == 1, ..., 2] += 150
    return pixels, codes


def as_tensor(pixels):
    return torch.from_numpy(pixels).permute(0, 3, 1, 2)


def test_its_features_are_those_of_the_packaged_graph(images):
    network = TunedNetwork(2)
    with torch.no_grad():
        ours = network.features(network.standardise()(as_tensor(images[0]).float())).numpy()
    assert np.abs(ours - efficientnet_lite0(SIDE).embed(images[0])).max() < 1e-4


def test_it_starts_with_the_predictions_of_the_frozen_head(images):
    pixels, codes = images
    network = TunedNetwork(2)
    network.start_from(as_tensor(pixels), codes, 2)
    features = efficientnet_lite0(SIDE).embed(pixels)
    head = fit_head("supervised", features, codes, 2, None, np.random.default_rng(0))
    with torch.no_grad():
        logits = network(network.standardise()(as_tensor(pixels).float())).numpy()
    assert np.abs(logits - head.logits(features)).max() < 0.02
    assert np.array_equal(logits.argmax(axis=1), codes)


@pytest.mark.parametrize("algorithm", ["supervised", "fixmatch"])
def test_it_trains_with_the_algorithms_of_networks(images, algorithm):
    pixels, codes = images
    trained = train(
        pixels, codes, pixels, pixels, codes, model="efficientnet-lite0", algorithm=algorithm,
        updates=2, epochs=1, batch_size=4,
    )  # fmt: skip
    assert trained.record.accuracy_last == 1.0
    assert trained.record.configuration["model"] == {"backbone": "efficientnet-lite0", "share": 0.5}
    assert trained.record.configuration["learning_rate"] == 1e-4


def test_the_body_learns_slower_than_the_head():
    (body, slow), (head, fast) = TunedNetwork(3).rate_factors()
    assert fast > 10 * slow
    assert len(body) == 2 * 49
    assert len(head) == 2


def test_its_defaults_replace_only_what_was_not_asked_for():
    plan = TrainingPlan(model="efficientnet-lite0", updates=7).settled(is_tuned=True)
    assert (plan.updates, plan.image_size, plan.augment) == (7, 96, "crop")
    assert (plan.epochs, plan.learning_rate) == (5, 1e-4)


def test_defaults_of_networks_from_scratch_can_be_asked_for():
    asked = {"epochs": 50, "learning_rate": 2e-4, "augment": "paper"}
    plan = TrainingPlan(model="efficientnet-lite0", **asked).settled(is_tuned=True)
    assert {name: getattr(plan, name) for name in asked} == asked
    scratch = TrainingPlan(model="wrn-thin").settled(is_tuned=False)
    assert {name: getattr(scratch, name) for name in asked} == asked
    assert scratch.updates is None


def test_grey_images_are_refused():
    assert model_spec("efficientnet-lite0") == TunedSpec()
    with pytest.raises(OptionError, match="takes RGB images; got 1 channels"):
        TunedSpec().build((1, 64, 64), 2)


def test_a_missing_onnx_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    message = r"Fine-tuning the backbone needs packages .*mixmood\[train\]"
    with pytest.raises(MissingExtraError, match=message):
        model_spec("efficientnet-lite0").build((3, SIDE, SIDE), 2)


def test_a_resumed_run_interpolates_from_the_frozen_weights_too(images, tmp_path):
    """The checkpoint holds fine-tuned weights; the initial ones are made again."""
    pixels, codes = images

    def run(name, on_epoch=lambda epoch: None):
        return train(
            pixels, codes, None, pixels, codes, model="efficientnet-lite0", algorithm="supervised",
            updates=2, epochs=2, batch_size=4, threads=1, out=tmp_path / name, resume=True,
            on_epoch=on_epoch,
        ).model.state_dict()  # fmt: skip

    def stop(epoch):
        raise KeyboardInterrupt

    whole = run("whole")
    with pytest.raises(KeyboardInterrupt):
        run("stopped", stop)
    resumed = run("stopped")
    assert all(torch.equal(weights, resumed[name]) for name, weights in whole.items())
