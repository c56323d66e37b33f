"""Files put together without the package `onnx` are what that package would have written."""

import numpy as np
import onnx
import onnxruntime
import pytest

from mixmood.features.backbones import untrained_wrn
from mixmood.features.backbones.onnx_graph import FLOAT, UINT8, GraphPart, alone, extended
from mixmood.features.backbones.registry import efficientnet_lite0


def session_of(model):
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def doubling():
    part = GraphPart("part_")
    value = part.node("Mul", "x", part.constant(np.array([2.0], np.float32)))
    part.named("y", value)
    return alone(
        part, inputs={"x": (FLOAT, ["n", 3])}, outputs={"y": (FLOAT, ["n", 3])},
        metadata={"about": "doubles", "ümlaut": "ä"},
    )  # fmt: skip


def test_a_graph_of_its_own_is_valid_and_computes():
    model = doubling()
    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    session = session_of(model)
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(session.run(None, {"x": given})[0], 2 * given)
    assert session.get_modelmeta().custom_metadata_map == {"about": "doubles", "ümlaut": "ä"}


def test_nodes_before_and_after_join_a_graph_and_metadata_is_replaced():
    before, after = GraphPart("before_"), GraphPart("after_")
    before.named("x", before.node("Transpose", before.node("Cast", "image", to=FLOAT), perm=[1, 0]))
    shares = after.node("Softmax", "y", axis=1)
    after.named("shares", shares)
    model = extended(
        doubling(), before, after, inputs={"image": (UINT8, [3, "n"])},
        outputs={"shares": (FLOAT, ["n", 3])}, metadata={"about": "more"},
    )  # fmt: skip
    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    session = session_of(model)
    given = np.array([[0, 1], [0, 2], [0, 3]], np.uint8)
    found = session.run(None, {"image": given})[0]
    expected = np.exp(2.0 * given.T) / np.exp(2.0 * given.T).sum(axis=1, keepdims=True)
    assert found == pytest.approx(expected, rel=1e-5)
    assert session.get_modelmeta().custom_metadata_map["about"] == "more"


def test_the_packaged_backbone_takes_a_head_and_stays_valid():
    backbone = efficientnet_lite0()
    images = np.random.default_rng(0).integers(0, 256, (2, 96, 96, 3), dtype=np.uint8)
    features = backbone.embed(images)
    assert backbone.graph_names() == ("images", "features")
    after = GraphPart("head_")
    after.named("roots", after.node("Sqrt", after.node("Abs", "features")))
    model = extended(
        backbone.network, GraphPart(""), after, inputs={"images": (UINT8, ["n", 96, 96, 3])},
        outputs={"roots": (FLOAT, ["n", 1280])}, metadata={},
    )  # fmt: skip
    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    found = session_of(model).run(None, {"images": images})[0]
    assert np.allclose(found**2, np.abs(features), atol=1e-4)


def test_the_networks_of_the_package_are_valid_graphs():
    model = onnx.load_from_string(untrained_wrn.build())
    onnx.checker.check_model(model, full_check=True)
    assert [output.name for output in model.graph.output] == ["features"]
