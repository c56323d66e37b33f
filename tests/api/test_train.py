"""Trained models in Python."""

from types import SimpleNamespace

import numpy as np
import pytest

import mixmood
from mixmood.core.errors import OptionError, OutputError
from mixmood.core.listener import Recorder


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
    with pytest.raises(OptionError, match="resume needs the folder of the run"):
        mixmood.train("no such folder", resume=True)


def test_features_that_depend_on_the_batch_give_warnings():
    """A head on them reached 100 % in cross-validation, and failed on images given one by one."""
    pytest.importorskip("torch")
    images = np.random.default_rng(0).integers(0, 255, (4, 32, 32, 3), dtype=np.uint8)
    told = Recorder()
    model = mixmood.train(
        (images, [0, 1, 0, 1]), backbone="untrained-wrn", cache=None, listener=told
    )
    accuracy = "depend on the other images of a batch: the accuracy does not hold"
    assert any(accuracy in text for text in told.warnings)
    assert any(accuracy in text for text in model.record.warnings)
    told.warnings.clear()
    model.predict(images, listener=told)
    assert any(
        "can change with the images that it is classified with" in text for text in told.warnings
    )


def test_an_empty_output_folder_is_refused(tmp_path, monkeypatch):
    """It would be the current folder, as where a variable of the shell is not set."""
    monkeypatch.chdir(tmp_path)
    features = np.random.default_rng(0).normal(size=(6, 3))
    with pytest.raises(OptionError, match="out is an empty path. Is a variable of the shell"):
        mixmood.train((features, [0, 1] * 3), out="")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("chosen", "side"), [(224, 160), (96, 96)])
def test_the_backbone_is_tuned_at_the_resolution_of_the_labelled_images_at_most_160(
    chosen, side, tmp_path, monkeypatch
):
    """The last layer chooses; a folder that holds a run is refused before images are read."""
    pytest.importorskip("torch")
    asked = []

    def sets(labelled, pools, plan, *rest):
        asked.append((plan.depth, plan.resolution))
        backbone = SimpleNamespace(resolution=chosen)
        return SimpleNamespace(view=SimpleNamespace(backbone=backbone))

    monkeypatch.setattr("mixmood.api.train.sets_in_view", sets)
    images = np.random.default_rng(0).integers(0, 255, (4, 24, 24, 3), dtype=np.uint8)
    labelled = [(image, place % 2) for place, image in enumerate(images)]
    options = {"algorithm": "supervised", "updates": 1, "epochs": 1, "batch_size": 2}
    told = Recorder()
    mixmood.train(
        labelled, model="efficientnet-lite0", out=tmp_path / "run", listener=told, **options
    )
    assert f"4 images resized to {side} x {side} pixels" in " ".join(told.notes)
    assert asked == [("last", "auto")]
    assert any(text.startswith(f"Fine-tuned at {side} px") for text in told.notes)
    with pytest.raises(OutputError, match="holds a run already"):
        mixmood.train(labelled, model="efficientnet-lite0", out=tmp_path / "run", **options)
    assert len(asked) == 1
