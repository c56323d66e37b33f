"""Trained models as ONNX: they predict as they did in torch, and say what they cannot."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mixmood.api.predict import predict
from mixmood.api.train import train
from mixmood.core.errors import InputError, MissingExtraError, OptionError, OutputError, ShapeError
from mixmood.core.listener import Silent
from mixmood.ssl.models.network import Standardise
from mixmood.ssl.models.registry import model_spec
from mixmood.ssl.predict import METADATA, Classifier, classified
from mixmood.ssl.train import to_onnx


def test_the_model_predicts_new_images_without_torch(labelled, pool, quick, tmp_path, write_images):
    out = tmp_path / "run"
    quick |= {"updates": 60, "augment": "flips", "algorithm": "pseudo-label"}
    train(labelled, pool, **quick, out=out)
    new = write_images(tmp_path / "new", 30, 9)
    predictions = predict(out, new)
    truth = [name.partition("/")[0] for name in predictions.images]
    assert np.mean(np.array(truth) == np.array(predictions.classes)) > 0.9
    assert np.allclose(predictions.probabilities.sum(1), 1, atol=1e-5)
    lines = predictions.to_csv(tmp_path / "classes.csv").splitlines()
    assert (tmp_path / "classes.csv").read_text().splitlines() == lines
    assert lines[0] == "image,class,confidence,p_chequered,p_lying,p_standing"
    assert len(lines) == 31
    assert np.array_equal(predict(out / "model.onnx", new).classes, predictions.classes)


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 10, 7)])
def test_onnx_gives_the_probabilities_of_torch(tmp_path, shape):
    torch.manual_seed(0)
    model = model_spec("wrn-small").build(shape, 4)
    with torch.no_grad():
        model(torch.randn(32, *shape))
    model.eval()
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (5, shape[1], shape[2], shape[0]), dtype=np.uint8)
    standardise = Standardise(torch.full(shape[:1], 100.0), torch.full(shape[:1], 50.0))
    (tmp_path / "model.onnx").write_bytes(to_onnx(model, standardise, shape, tuple("abcd")))
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2).float()
    with torch.no_grad():
        expected = model(standardise(images)).softmax(1).numpy()
    rgb = np.repeat(pixels, 3, axis=3) if shape[0] == 1 else pixels
    assert np.allclose(Classifier(tmp_path).answer(rgb)[0], expected, atol=1e-4)


def test_a_model_that_onnx_cannot_hold_is_said(tmp_path):
    class Odd(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.eigvals(x[:, 0]).real

    standardise = Standardise(torch.zeros(1), torch.ones(1))
    with pytest.raises(
        OutputError, match="cannot be written as ONNX: .* Its weights are in model.pt"
    ):
        to_onnx(Odd(), standardise, (1, 4, 4), ("a", "b"))


def test_an_export_error_without_a_message_is_named_by_its_class():
    class Unfinished(torch.nn.Module):
        def forward(self, x):
            raise NotImplementedError

    standardise = Standardise(torch.zeros(1), torch.ones(1))
    with pytest.raises(OutputError, match="as ONNX: NotImplementedError. Its weights are"):
        to_onnx(Unfinished(), standardise, (1, 4, 4), ("a", "b"))


def test_a_wrong_number_of_threads_is_not_called_a_wrong_model():
    with pytest.raises(OptionError, match="jobs must be at least 1; got 0"):
        Classifier(b"", jobs=0)


def test_a_missing_onnx_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    standardise = Standardise(torch.zeros(1), torch.ones(1))
    with pytest.raises(MissingExtraError, match=r"Writing ONNX models needs .*mixmood\[train\]"):
        to_onnx(model_spec("wrn-tiny").build((1, 8, 8), 2), standardise, (1, 8, 8), ("a", "b"))


def test_a_folder_without_a_model_is_refused(pool, tmp_path):
    with pytest.raises(InputError, match=r"model.onnx does not exist. Give the folder"):
        predict(tmp_path, pool)


@pytest.mark.parametrize("content", [b"", b"no model"])
def test_a_file_that_is_no_model_is_refused(pool, tmp_path, content):
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(InputError, match="is no model written by `mixmood train`"):
        predict(tmp_path, pool)


def test_prediction_names_what_it_cannot_read(labelled, pool, quick, tmp_path, told):
    out = tmp_path / "run"
    train(labelled, pool, **quick, out=out)
    paths = sorted(pool.iterdir())
    paths[0].write_bytes(b"broken")
    predictions = predict(out, pool, listener=told)
    assert predictions.unreadable == (paths[0].name,)
    (warning,) = told.warnings
    assert "pool: 1 of 30" in warning
    assert paths[0].name in warning
    for path in paths:
        path.write_bytes(b"broken")
    with pytest.raises(InputError, match="pool has no readable image among 30"):
        predict(out, pool)
    with pytest.raises(InputError, match="holds features; images are needed to classify"):
        predict(out, np.zeros((4, 9), dtype=np.float32))


def test_images_for_a_model_that_was_trained_on_features_are_refused(rng):
    trained = train((rng.normal(size=(12, 4)), np.arange(12) % 2))
    with pytest.raises(InputError, match="The model was trained on features: give features of the"):
        predict(trained.model, np.zeros((2, 8, 8), np.uint8))


def test_features_of_another_width_are_refused_with_both_widths(rng):
    trained = train((rng.normal(size=(12, 4)), np.arange(12) % 2))
    message = "array has 5 features for each image, and the model takes 4. Extract them as"
    with pytest.raises(ShapeError, match=message):
        trained.predict(rng.normal(size=(3, 5)))


def test_images_for_a_model_of_features_without_a_backbone_are_refused():
    taken = SimpleNamespace(input="features", size=None, backbone=lambda: None)
    source = SimpleNamespace(name="web")
    with pytest.raises(InputError, match="web holds images; this model takes features"):
        classified(taken, source, Silent())


onnx = pytest.importorskip("onnx", reason="building graphs needs the extra dev")
helper, FLOAT, UINT8 = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.UINT8
KNOWN = {"class_names": ["cat", "dog", "cow"], "height": 8, "width": 8, "channels": 3}


@pytest.fixture
def forged(tmp_path):
    """Writes a model that gives the mean of each channel for the probability of a class."""

    def write(scale=1.0, n_typical=5, **changes):
        nodes = [
            helper.make_node("Cast", ["images"], ["f"], to=FLOAT),
            helper.make_node("ReduceMean", ["f"], ["m"], axes=[1, 2], keepdims=0),
            helper.make_node("Div", ["m", "s"], ["y"]),
            helper.make_node("Identity", ["t"], ["typicality"]),
        ]
        graph = helper.make_graph(
            nodes,
            "net",
            [helper.make_tensor_value_info("images", UINT8, ["n", "h", "w", "c"])],
            [
                helper.make_tensor_value_info("y", FLOAT, ["n", "c"]),
                helper.make_tensor_value_info("typicality", FLOAT, [n_typical]),
            ],
            [
                onnx.numpy_helper.from_array(np.float32(scale), "s"),
                onnx.numpy_helper.from_array(np.zeros(n_typical, np.float32), "t"),
            ],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        helper.set_model_props(model, {METADATA: json.dumps(KNOWN | changes)})
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return write


IMAGES = np.full((5, 8, 8, 3), 9, np.uint8)


def test_a_whole_model_classifies(forged):
    assert predict(forged(), IMAGES).classes == ["cat"] * 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"height": 10**9}, r"it claims to take images of \(1000000000, 8\) pixels"),
        ({"width": 0}, r"it claims to take images of \(8, 0\) pixels"),
        ({"class_names": ["cat", "dog"]}, r"it gives float32 \(5, 3\)"),
        ({"channels": 1}, r"it gives float32 \(5, 1\)"),
        ({"n_typical": 4}, "it gives 4 values of typicality"),
        ({"scale": 0.0}, "its probabilities are not finite"),
    ],
)
def test_a_model_that_is_not_what_it_says_is_refused(forged, changes, message):
    with pytest.raises(InputError, match=f"is no model written by `mixmood train`: {message}"):
        predict(forged(**changes), IMAGES)
