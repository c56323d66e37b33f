"""Trained models in Python."""

import numpy as np
import pytest

import mixmood
from mixmood.core.errors import OptionError


def test_a_network_without_a_file_does_not_predict():
    pytest.importorskip("torch")
    images = np.random.default_rng(0).integers(0, 255, (4, 8, 8, 3), dtype=np.uint8)
    labelled = [(image, place % 2) for place, image in enumerate(images)]
    model = mixmood.train(
        labelled, algorithm="supervised", model="wrn-tiny", updates=1, epochs=1, batch_size=4
    )
    with pytest.raises(OptionError, match="without a folder for its file. Train with out=FOLDER"):
        model.predict(images)


def test_a_head_cannot_be_trained_again_without_a_folder():
    with pytest.raises(OptionError, match="resume needs the folder of the run to train again"):
        mixmood.train("no such folder", resume=True)
