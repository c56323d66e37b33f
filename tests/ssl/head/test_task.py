"""What a head trained on features refuses of the other sets."""

import numpy as np
import pytest

from mixmood.api.train import train
from mixmood.core.errors import ShapeError, TrainingError
from mixmood.core.listener import Recorder


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


class Listing:
    """A data set whose list of classes is longer than the classes that its images have."""

    classes = ("cat", "dog", "owl")

    def __init__(self, targets):
        self.targets = targets

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        return np.full((8, 8, 3), 20 * index, np.uint8)


@pytest.mark.parametrize("model", ["head", "wrn-tiny"])
def test_a_class_that_no_test_image_has_need_not_be_labelled(model):
    """A part of a data set keeps its whole list of classes."""
    options = {"listener": Recorder()}
    options |= {} if model == "head" else {"updates": 1, "epochs": 1, "batch_size": 4}
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    labelled = [(image, ("dog", "cat")[place % 2]) for place, image in enumerate(images)]
    trained = train(
        labelled,
        test=Listing([1, 0, 0]),
        model=model,
        algorithm="supervised",
        **options,
    )
    assert trained.record.n_test == 3
    message = "classes that no labelled image has: owl"
    with pytest.raises(TrainingError, match=message):
        train(labelled, test=Listing([1, 2, 0]), model=model, algorithm="supervised", **options)


@pytest.mark.parametrize("model", ["head", "wrn-tiny"])
def test_a_class_called_minus_one_gives_a_warning(model):
    """In scikit-learn, and in `mixmood.heads`, -1 is no class."""
    options = {"listener": Recorder()}
    options |= {} if model == "head" else {"updates": 1, "epochs": 1, "batch_size": 4}
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    told = Recorder()
    labelled = images, np.arange(12) % 3 - 1
    train(labelled, model=model, algorithm="supervised", **options | {"listener": told})
    assert "The label -1 is a class like the others. Put images without a class into the pool." in (
        told.warnings
    )
