"""A network that no memory holds is refused before it is built."""

import numpy as np
import pytest
import torch
from torch import nn

from mixmood.core.errors import OptionError
from mixmood.ssl.models import registry as memory
from mixmood.ssl.models.registry import MODELS, WideResNetSpec, model_spec
from mixmood.ssl.train import train


def n_convolutions(model):
    return sum(m.kernel_size == (3, 3) for m in model.modules() if isinstance(m, nn.Conv2d))


def test_the_default_is_the_papers_network():
    """3 groups of 4 blocks of 2 convolutions and the first one; 32 * 2 * 4 features."""
    model = model_spec("wrn").build((3, 32, 32), 5)
    assert n_convolutions(model) == 3 * 4 * 2 + 1
    assert model.body[0].out_channels == 32
    assert model.head.in_features == 256


def test_sixty_four_first_filters_give_512_features():
    assert model_spec("wrn:first_filters=64").build((3, 32, 32), 5).head.in_features == 512


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", [(1, 14, 14), (3, 20, 13)])
def test_a_network_maps_images_of_any_size_to_logits(name, shape):
    model = model_spec(name).build(shape, 4)
    assert model(torch.zeros(2, *shape)).shape == (2, 4)


def test_changes_follow_a_colon():
    assert model_spec("wrn-thin:blocks=2,widening=3") == WideResNetSpec(3, 2, 3, 8)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("wrm", "Unknown model 'wrm'. Did you mean 'wrn'"),
        ("wrn:block=2", "Unknown setting of a Wide-ResNet 'block'. Did you mean 'blocks'"),
        ("wrn:blocks=two", "blocks of a Wide-ResNet must be a whole number; got 'two'"),
        ("wrn:shortcut=none", "Unknown shortcut of a Wide-ResNet 'none'"),
        ("wrn:blocks=0", "blocks of a Wide-ResNet must be at least 1; got 0"),
    ],
)
def test_a_network_that_cannot_be_is_refused(word, message):
    with pytest.raises(OptionError, match=message):
        model_spec(word)


def test_the_papers_network_has_as_many_filters_as_the_image_is_high_up_to_a_limit():
    assert [model_spec("wrn").filters_for(height) for height in (28, 32, 324)] == [28, 32, 64]
    assert model_spec("wrn:first_filters=7").filters_for(324) == 7


def test_an_update_beyond_the_memory_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(memory, "memory_bytes", lambda: 8 * 10**9)
    memory.check_memory(model_spec("wrn-thin"), 32, 48)
    message = "48 images of 324 x 324 pixels would need about .* GB; this machine has 8. Choose"
    with pytest.raises(OptionError, match=message):
        memory.check_memory(model_spec("wrn"), 324, 48)


def test_training_asks_before_it_builds(monkeypatch):
    monkeypatch.setattr(memory, "memory_bytes", lambda: 1000)
    images, labels = np.zeros((4, 8, 8, 3), np.uint8), np.arange(4) % 2
    with pytest.raises(OptionError, match="would need about"):
        train(images, labels, images, images, labels, model="wrn-tiny")


def test_a_system_that_does_not_say_is_trusted(monkeypatch):
    monkeypatch.setattr(memory, "memory_bytes", lambda: None)
    memory.check_memory(model_spec("wrn"), 4000, 480)


def test_an_active_shortcut_adds_a_fifth_of_the_branch_to_the_activated_input():
    block = model_spec("wrn-tiny:shortcut=active").build((1, 8, 8), 3).body[1]
    x = torch.randn(2, 4, 8, 8)
    active = torch.relu(block.norm1(x))
    branch = block.conv2(torch.relu(block.norm2(block.conv1(active))))
    torch.testing.assert_close(block(x), active + 0.2 * branch)
    assert branch.abs().max() > 0
