"""How is an ONNX file read and written? Byte by byte: the package `onnx` is not needed.

An ONNX file is one protobuf message. Repeated fields are simply appended, so that nodes, constants
and outputs can be added to a graph without decoding the rest of it. Fields are written in the
order of their numbers in onnx.proto3 (https://onnx.ai): equal graphs have equal bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT, UINT8, INT64, FLOAT16 = 1, 2, 7, 10
KINDS = {"float32": FLOAT, "uint8": UINT8, "int64": INT64, "float16": FLOAT16}
OPSET, IR_VERSION = 17, 8

Values = Mapping[str, tuple[int, Sequence[str | int]]]  # type and shape; a word is any size
Weights = Mapping[str, NDArray[np.float32]]  # the tensors of a checkpoint by name

IMAGES: Values = {"images": (UINT8, ["n", "side", "side", 3])}

MODEL_GRAPH, MODEL_METADATA = 7, 14
GRAPH_NODE, GRAPH_CONSTANT, GRAPH_INPUT, GRAPH_OUTPUT = 1, 5, 11, 12
CHILDREN: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
"""Which fields of which message lead to tensors."""
EXTERNAL_DATA, DATA_LOCATION = 13, 14
DEEPEST = 64

IMAGENET_MEAN, IMAGENET_DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
"""Of red, green and blue in 0..255; nearly every network trained on ImageNet uses them."""


def has_external_data(model: bytes) -> bool:
    """Whether a tensor of the model is stored in another file; ValueError if it is not ONNX.

    ONNX Runtime would open that file, relative to the current directory. A model from an unknown
    source must not decide which files of this machine are read.
    """
    return any(
        number == EXTERNAL_DATA or (number == DATA_LOCATION and value != 0)
        for tensor in _tensors(memoryview(model), "model", 0)
        for number, value in fields_of(tensor)
    )


def _tensors(message: memoryview, kind: str, depth: int) -> Iterator[memoryview]:
    if kind == "tensor":
        yield message
        return
    if depth > DEEPEST:
        raise ValueError("its graphs are nested too deeply")
    for number, value in fields_of(message):
        child = CHILDREN[kind].get(number)
        if child is not None and isinstance(value, memoryview):
            yield from _tensors(value, child, depth + 1)


def fields_of(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field of a protobuf message; contents are not copied."""
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        # ONNX Runtime drops the bits above, and would read another field than this one.
        wire_type = tag & 7 if tag < 2**32 else None
        if wire_type == 0:
            value, at = _read_varint(message, at)
            yield tag >> 3, value
            continue
        if wire_type == 2:
            size, at = _read_varint(message, at)
        elif wire_type in (1, 5):
            size = 8 if wire_type == 1 else 4
        else:
            raise ValueError("not an ONNX file")
        if at + size > len(message):
            raise ValueError("the file ends before its content does")
        yield tag >> 3, message[at : at + size]
        at += size


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise ValueError("the file ends before its content does")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("not an ONNX file")


def _varint(number: int) -> bytes:
    """A whole number, seven bits a byte; negative ones as 64 bits."""
    number &= (1 << 64) - 1
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _field(number: int, value: int | str | bytes | memoryview) -> bytes:
    """The field `number` with a whole number, or with text, bytes or a message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _fields(number: int, values: Iterable[int | str | bytes]) -> bytes:
    """The field `number` once for each value."""
    return b"".join(_field(number, value) for value in values)


@dataclass
class GraphPart:
    """Nodes and constants of a graph, in the order of computation."""

    prefix: str = ""  # begins every name of the part, so that no name of another graph is repeated
    nodes: list[bytes] = field(default_factory=list)
    constants: list[bytes] = field(default_factory=list)

    def node(
        self,
        kind: str,
        *inputs: str,
        name: str | None = None,
        n_outputs: int = 1,
        **attributes: int | Sequence[int],
    ) -> str:
        """The name of the first output of a new node; attributes are whole numbers or lists."""
        name = name or f"{self.prefix}v{len(self.nodes)}"
        outputs = [name, *(f"{name}_{extra}" for extra in range(1, n_outputs))]
        content = _fields(1, inputs) + _fields(2, outputs) + _field(4, kind)
        for key, value in sorted(attributes.items()):
            if isinstance(value, int):
                numbers = _field(3, value) + _field(20, 2)  # a number is of type 2, a list of 7
            else:
                numbers = _fields(8, value) + _field(20, 7)
            content += _field(5, _field(1, key) + numbers)
        self.nodes.append(content)
        return name

    def named(self, output: str, value: str) -> None:
        """Make a value an output of the graph, under this name."""
        self.node("Identity", value, name=output)

    def constant(self, values: NDArray[Any] | np.floating[Any]) -> str:
        """The name of a stored array of float32, float16, int64 or uint8; float64 is rounded."""
        name, array = f"{self.prefix}c{len(self.constants)}", np.ascontiguousarray(values)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        content = _fields(1, array.shape) + _field(2, KINDS[array.dtype.name])
        self.constants.append(content + _field(8, name) + _field(9, array.tobytes()))
        return name


class ConvGraph(GraphPart):
    """A convolutional network from `images`, uint8 (n, side, side, 3), layer by layer."""

    def weight(self, value: NDArray[np.float32]) -> str:
        """The name of a stored weight."""
        return self.constant(value)

    def images(
        self, mean: Sequence[float] = IMAGENET_MEAN, deviation: Sequence[float] = IMAGENET_DEVIATION
    ) -> str:
        """The input as float32 (n, 3, side, side), normalised: (x - mean) / deviation."""
        channels = self.node("Transpose", self.node("Cast", "images", to=FLOAT), perm=[0, 3, 1, 2])
        centre, scale = (
            self.constant(np.broadcast_to(np.array(one, np.float32), 3).reshape(1, 3, 1, 1))
            for one in (mean, deviation)
        )
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
        return self.node(
            "Conv",
            x,
            *(self.weight(stored) for stored in (weight, bias) if stored is not None),
            kernel_shape=list(weight.shape[2:]),
            strides=[stride] * 2,
            pads=[pads[0], pads[0], pads[1], pads[1]],
            group=groups,
        )

    def pool(self, x: str) -> str:
        """The name of the mean over both image axes, shape (n, channels)."""
        return self.node("Flatten", self.node("GlobalAveragePool", x), axis=1)

    def save(self, name: str, outputs: Mapping[str, tuple[str, int]], about: str) -> bytes:
        """The ONNX file; `outputs` gives each output its (node name, width)."""
        for output, (value, _) in outputs.items():
            self.named(output, value)
        ends: Values = {output: (FLOAT, ["n", width]) for output, (_, width) in outputs.items()}
        return alone(self, inputs=IMAGES, outputs=ends, name=name, about=about)


def folded(
    weights: Weights, conv: str, norm: str, epsilon: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weight and bias of a convolution with the batch-norm after it folded in, in float64.

    w' = w * g / sqrt(var + epsilon), b' = beta - mean * g / sqrt(var + epsilon).
    """
    gain = weights[f"{norm}.weight"].astype(np.float64) / np.sqrt(
        weights[f"{norm}.running_var"].astype(np.float64) + epsilon
    )
    kernel = weights[f"{conv}.weight"] * gain[:, None, None, None]
    bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * gain
    return kernel.astype(np.float32), bias.astype(np.float32)


def alone(
    part: GraphPart,
    *,
    inputs: Values,
    outputs: Values,
    metadata: Mapping[str, str] | None = None,
    name: str = "mixmood",
    about: str = "",
) -> bytes:
    """A model that consists of one part."""
    graph = _fields(GRAPH_NODE, part.nodes) + _field(2, name)
    graph += _fields(GRAPH_CONSTANT, part.constants) + _ends(inputs, outputs)
    head = _field(1, IR_VERSION) + _field(2, "mixmood") + (_field(6, about) if about else b"")
    opset = _field(8, _field(1, "") + _field(2, OPSET))
    return head + _field(MODEL_GRAPH, graph) + opset + _properties(metadata or {})


def extended(
    model: bytes,
    before: GraphPart,
    after: GraphPart,
    *,
    inputs: Values,
    outputs: Values,
    metadata: Mapping[str, str],
    is_pruned: bool = False,
) -> bytes:
    """A model with nodes before and after its own, other inputs and outputs, further metadata.

    With `is_pruned`, nodes and constants that no output needs, which ONNX Runtime would compute,
    are left out. Only for graphs without other graphs in their nodes.
    """
    kept = b""
    for number, value in fields_of(memoryview(model)):
        if number == MODEL_GRAPH and isinstance(value, memoryview):
            own = (
                _field(n, v) for n, v in fields_of(value) if n not in (GRAPH_INPUT, GRAPH_OUTPUT)
            )
            graph = _fields(GRAPH_NODE, before.nodes) + b"".join(own)
            graph += _fields(GRAPH_NODE, after.nodes)
            graph += _fields(GRAPH_CONSTANT, [*before.constants, *after.constants])
            graph = _pruned(graph, set(outputs)) if is_pruned else graph
            kept += _field(number, graph + _ends(inputs, outputs))
        elif number != MODEL_METADATA or not metadata.keys() & _words(value, 1):
            kept += _field(number, value)
    return kept + _properties(metadata)


def _pruned(graph: bytes, needed: set[str]) -> bytes:
    """The content of a graph without nodes and constants on which no needed value depends."""
    content = list(fields_of(memoryview(graph)))
    nodes: list[bytes] = []
    # They stand in the order of computation: one walk from the last to the first is enough.
    for number, node in reversed(content):
        if number == GRAPH_NODE and not needed.isdisjoint(_words(node, 2)):
            needed |= set(_words(node, 1))
            nodes.insert(0, _field(GRAPH_NODE, node))
    others = (
        _field(number, value)
        for number, value in content
        if number not in (GRAPH_NODE, GRAPH_CONSTANT)
        or (number == GRAPH_CONSTANT and not needed.isdisjoint(_words(value, 8)))
    )
    return b"".join((*nodes, *others))


def _words(message: int | memoryview, wanted: int) -> list[str]:
    """The texts in the fields of this number."""
    if isinstance(message, int):
        return []
    return [
        bytes(value).decode()
        for number, value in fields_of(message)
        if number == wanted and isinstance(value, memoryview)
    ]


def _ends(inputs: Values, outputs: Values) -> bytes:
    named = ((_value(name, *kind) for name, kind in values.items()) for values in (inputs, outputs))
    return _fields(GRAPH_INPUT, next(named)) + _fields(GRAPH_OUTPUT, next(named))


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = _fields(1, (_field(2 if isinstance(size, str) else 1, size) for size in shape))
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, sizes)))


def _properties(metadata: Mapping[str, str]) -> bytes:
    return _fields(MODEL_METADATA, (_field(1, key) + _field(2, v) for key, v in metadata.items()))
