"""A network that no memory holds is refused before it is built."""

import numpy as np
import pytest

from mixmood.core.errors import OptionError
from mixmood.ssl.models import registry as memory
from mixmood.ssl.models.registry import model_spec
from mixmood.ssl.train import train


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
