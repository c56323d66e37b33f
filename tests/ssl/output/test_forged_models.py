"""Model files that ONNX Runtime takes and that are still none of ours."""

import json

import numpy as np
import pytest

from mixmood.api.predict import predict
from mixmood.core.errors import InputError
from mixmood.ssl.predict import METADATA

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
