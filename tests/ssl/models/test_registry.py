import pytest
import torch
from torch import nn

from mixmood.core.errors import OptionError
from mixmood.ssl.models.registry import MODELS, WideResNetSpec, model_spec


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
        ("wrn:blocks=0", "blocks of a Wide-ResNet must be at least 1; got 0"),
    ],
)
def test_a_network_that_cannot_be_is_refused(word, message):
    with pytest.raises(OptionError, match=message):
        model_spec(word)
