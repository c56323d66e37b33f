"""A trained model and its record in a notebook: short, and safe."""

import numpy as np
import pytest

import mixmood

pytestmark = pytest.mark.usefixtures("all_draws")


def arrays(rng, n, shift=0.0):
    return rng.normal(shift, size=(n, 6)).astype(np.float32)


def trained_head(tmp_path):
    rng = np.random.default_rng(0)
    features = np.concatenate([arrays(rng, 20), arrays(rng, 20, 3.0)])
    labels = np.array(["<b>low</b>"] * 20 + ["high"] * 20)
    np.savez(tmp_path / "labelled.npz", features=features, labels=labels)
    return mixmood.train(tmp_path / "labelled.npz", arrays(rng, 50), cache=None)


def test_a_head_is_one_line_and_a_small_table(tmp_path):
    model = trained_head(tmp_path)
    assert repr(model).startswith("<TrainedModel: head, ")
    assert repr(model.record).startswith("<HeadRecord: head, ")
    assert max(len(repr(model)), len(repr(model.record))) < 120
    assert model.record._repr_html_().startswith("<p>head, ")
    text = model._repr_html_()
    assert "<th>algorithm</th>" in text
    assert "40 images of 2 classes" in text
    assert "<b>low" not in text


def test_a_network_is_one_line_and_a_small_table():
    images = np.random.default_rng(0).integers(0, 255, (12, 8, 8, 3), dtype=np.uint8)
    labelled = [(image, place % 2) for place, image in enumerate(images)]
    model = mixmood.train(
        labelled, algorithm="supervised", model="wrn-tiny", updates=2, epochs=1, batch_size=4
    )
    assert repr(model.record).startswith("<TrainingRecord: network, supervised: test accuracy ")
    assert len(repr(model)) < 120
    assert "<th>epochs</th><td>1</td>" in model._repr_html_()
    assert model.record._repr_html_().startswith("<p>network, supervised")


def test_predictions_are_one_line(tmp_path):
    model = trained_head(tmp_path)
    found = model.predict(arrays(np.random.default_rng(1), 500))
    assert repr(found).startswith("<Predictions: 500 images: ")
    assert len(repr(found)) < 120
