"""Convolutional networks written as ONNX graphs, layer by layer, without an exporter.

The networks here are simple chains of convolutions. Written directly, the files are small and have
the same bytes in every build, whatever version of torch read the weights.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import MissingExtraError

Weights = Mapping[str, NDArray[np.float32]]
"""The tensors of a checkpoint by name."""

IMAGENET_MEAN, IMAGENET_DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
"""Of red, green and blue in 0..255; nearly every network trained on ImageNet uses them."""

OPSET = 17
IR_VERSION = 8


def require_onnx(backbone: str) -> None:
    """Raise MissingExtraError if the package that writes graphs is missing."""
    from importlib.util import find_spec

    if find_spec("onnx") is None:
        raise MissingExtraError(f"The backbone {backbone}", "train")


class Graph:
    """A graph from `images`, uint8 (n, side, side, 3), to the outputs named in `save`."""

    def __init__(self, name: str, *, half: bool = False) -> None:
        """Begin a graph; `half` stores the weights as 16-bit numbers, cast back when loaded."""
        self._name = name
        self._half = half
        self._nodes: list[Any] = []
        self._tensors: list[Any] = []

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The name of the output of a new node."""
        from onnx import helper

        output = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def constant(self, value: Any) -> str:
        """The name of a stored array, kept in its own type."""
        from onnx import numpy_helper

        name = f"c{len(self._tensors)}"
        self._tensors.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def weight(self, value: NDArray[np.float32]) -> str:
        """The name of a stored weight; the network always computes with float32."""
        if not self._half:
            return self.constant(value.astype(np.float32))
        from onnx import TensorProto

        return self.node("Cast", self.constant(value.astype(np.float16)), to=TensorProto.FLOAT)

    def images(self, mean: Sequence[float], deviation: Sequence[float]) -> str:
        """The input as float32 (n, 3, side, side), normalised: (x - mean) / deviation."""
        from onnx import TensorProto

        pixels = self.node("Cast", "images", to=TensorProto.FLOAT)
        channels = self.node("Transpose", pixels, perm=[0, 3, 1, 2])
        shape = (1, 3, 1, 1)
        centre = self.constant(np.broadcast_to(np.array(mean, np.float32), 3).reshape(shape))
        scale = self.constant(np.broadcast_to(np.array(deviation, np.float32), 3).reshape(shape))
        return self.node("Div", self.node("Sub", channels, centre), scale)

    def conv(
        self,
        x: str,
        weight: NDArray[np.float32],
        bias: NDArray[np.float32] | None = None,
        *,
        stride: int = 1,
        pads: tuple[int, int] = (0, 0),
        groups: int = 1,
    ) -> str:
        """The name of a convolution's output; `pads` go before and after, on both axes."""
        inputs = [x, self.weight(weight)]
        if bias is not None:
            inputs.append(self.weight(bias))
        return self.node(
            "Conv",
            *inputs,
            kernel_shape=list(weight.shape[2:]),
            strides=[stride, stride],
            pads=[pads[0], pads[0], pads[1], pads[1]],
            group=groups,
        )

    def relu(self, x: str) -> str:
        """The name of the values with the negative ones set to 0."""
        return self.node("Relu", x)

    def clip(self, x: str, low: float, high: float) -> str:
        """The name of the values cut to low..high."""
        return self.node("Clip", x, self.constant(np.float32(low)), self.constant(np.float32(high)))

    def pool(self, x: str) -> str:
        """The name of the mean over both image axes, shape (n, channels)."""
        return self.node("Flatten", self.node("GlobalAveragePool", x), axis=1)

    def save(self, outputs: Mapping[str, tuple[str, int]], about: str) -> bytes:
        """The ONNX file; `outputs` gives each output its (node name, width)."""
        from onnx import TensorProto, checker, helper

        for name, (value, _) in outputs.items():
            self._nodes.append(helper.make_node("Identity", [value], [name]))
        images = helper.make_tensor_value_info(
            "images", TensorProto.UINT8, ["n", "side", "side", 3]
        )
        results = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width])
            for name, (_, width) in outputs.items()
        ]
        graph = helper.make_graph(self._nodes, self._name, [images], results, self._tensors)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(
            graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="mixmood"
        )
        model.doc_string = about
        checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))


def folded(
    weights: Weights, conv: str, norm: str, epsilon: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The weight and bias of a convolution into which the batch-norm after it is folded.

    w' = w * g / sqrt(var + epsilon), b' = beta - mean * g / sqrt(var + epsilon), in float64.
    """
    gain = weights[f"{norm}.weight"].astype(np.float64) / np.sqrt(
        weights[f"{norm}.running_var"].astype(np.float64) + epsilon
    )
    kernel = weights[f"{conv}.weight"] * gain[:, None, None, None]
    bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * gain
    return kernel.astype(np.float32), bias.astype(np.float32)
