"""What a head trained on features refuses of the other sets."""

import numpy as np
import pytest

from mixmood.api.train import train
from mixmood.core.errors import ShapeError, TrainingError


@pytest.fixture
def labelled(rng):
    """Twelve rows of features of two classes."""
    return rng.normal(size=(12, 4)), np.array(["cat", "dog"] * 6)


def test_images_beside_labelled_features_are_refused(labelled):
    images = np.zeros((3, 8, 8), np.uint8)
    message = "array holds images, but the labelled set holds features. Give both as images"
    with pytest.raises(ShapeError, match=message):
        train(labelled, images)
    with pytest.raises(ShapeError, match=message):
        train(labelled, test=(images, np.array(["cat", "dog", "cat"])))


def test_test_images_of_unknown_classes_are_refused(labelled, rng):
    test = rng.normal(size=(3, 4)), np.array(["cat", "owl", "emu"])
    message = r"classes that no labelled image has: emu, owl\. Label images of these classes"
    with pytest.raises(TrainingError, match=message):
        train(labelled, test=test)
