"""The message for a set without classes."""

import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.data.images.labels import needed_labels
from mixmood.data.open import open_pool


def test_the_message_names_the_ways_to_give_classes_to_an_array(tmp_path):
    np.save(tmp_path / "features.npy", np.zeros((4, 3)))
    with pytest.raises(InputError, match=r"has no classes\. .* an array labels in an \.npz file"):
        needed_labels(open_pool(tmp_path / "features.npy"))


def test_the_way_that_the_message_names_gives_classes(tmp_path):
    np.savez(tmp_path / "set.npz", features=np.eye(4), labels=np.array([1, 0, 1, 0]))
    assert needed_labels(open_pool(tmp_path / "set.npz")).counts() == {"0": 2, "1": 2}
