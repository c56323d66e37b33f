"""Small real files of trained models and backbones, made when they are needed."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@cache
def task() -> tuple[NDArray[Any], ...]:
    """Arguments of `train`: labelled, labels, unlabelled, test, test labels."""
    rng = np.random.default_rng(3)

    def drawn(count: int) -> NDArray[np.uint8]:
        return rng.integers(0, 256, (count, 8, 8, 1), dtype=np.uint8)

    return drawn(12), np.arange(12) % 3, drawn(20), drawn(9), np.arange(9) % 3


QUICK: dict[str, Any] = {
    "model": "wrn-tiny:groups=1,first_filters=2",
    "epochs": 2,
    "updates": 4,
    "batch_size": 6,
    "augment": "none",
}
"""Options of `train` that leave a small checkpoint."""


@cache
def trained() -> dict[str, bytes]:
    """The files that a finished training run leaves."""
    from mixmood.ssl.train import to_onnx, train

    with tempfile.TemporaryDirectory() as folder:
        done = train(*task(), **QUICK, out=Path(folder))
        checkpoint = (Path(folder) / "checkpoint.pt").read_bytes()
    names = done.record.class_names
    onnx = to_onnx(done.model, done.standardise, (1, 8, 8), names)
    record = done.record.to_json().encode()
    return {"checkpoint.pt": checkpoint, "model.onnx": onnx, "record.json": record}


def backbones() -> list[bytes]:
    """A network that takes bytes, and one that takes floats and has their range as metadata."""
    from onnx import TensorProto, helper, numpy_helper

    made = []
    for kind, shape in ((TensorProto.UINT8, ["n", 8, 8, 3]), (TensorProto.FLOAT, ["n", 3, 8, 8])):
        axes = [1, 2] if kind == TensorProto.UINT8 else [2, 3]
        nodes = [
            helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("ReduceMean", ["f"], ["m"], axes=axes, keepdims=0),
            helper.make_node("MatMul", ["m", "w"], ["y"]),
        ]
        weight = numpy_helper.from_array(np.eye(3, 4, dtype=np.float32), "w")
        into = [helper.make_tensor_value_info("x", kind, shape)]
        out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])]
        graph = helper.make_graph(nodes, "net", into, out, [weight])
        opset = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8)
        if kind == TensorProto.FLOAT:
            helper.set_model_props(model, {"mixmood.range": "1", "mixmood.mean": "0.5,0.5,0.5"})
        made.append(model.SerializeToString())
    return made
