"""ONNX files written byte by byte: the package `onnx` is not needed.

An ONNX file is one protobuf message. Repeated fields are simply appended, so that nodes, constants
and outputs can be added to a graph without decoding the rest of it. Field numbers are those of
onnx.proto3 (https://onnx.ai).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.features.backbones.onnx.safety import fields_of

FLOAT, UINT8, INT64 = 1, 2, 7
KINDS = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64, np.dtype(np.uint8): UINT8}
OPSET, IR_VERSION = 17, 8

Values = Mapping[str, tuple[int, Sequence[str | int]]]
"""Type and shape of inputs or outputs, by name; a word in a shape stands for any size."""

MODEL_GRAPH, MODEL_METADATA = 7, 14
GRAPH_NODE, GRAPH_CONSTANT, GRAPH_INPUT, GRAPH_OUTPUT = 1, 5, 11, 12


def _varint(number: int) -> bytes:
    """A whole number, seven bits a byte; negative ones as 64 bits."""
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _whole(place: int, number: int) -> bytes:
    return _varint(place << 3) + _varint(number)


def _block(place: int, content: bytes | memoryview | str) -> bytes:
    data = content.encode() if isinstance(content, str) else bytes(content)
    return _varint(place << 3 | 2) + _varint(len(data)) + data


@dataclass
class GraphPart:
    """Nodes and constants to be added to a graph, in the order of computation."""

    prefix: str
    """Begins every name of the part, so that no name of the graph is repeated."""
    nodes: list[bytes] = field(default_factory=list)
    constants: list[bytes] = field(default_factory=list)

    def node(self, kind: str, *inputs: str, n_outputs: int = 1, **attributes: int) -> str:
        """The name of the first output of a new node; attributes are whole numbers."""
        name = f"{self.prefix}{len(self.nodes)}"
        outputs = [name, *(f"{name}_{extra}" for extra in range(1, n_outputs))]
        content = b"".join(_block(1, one) for one in inputs)
        content += b"".join(_block(2, one) for one in outputs)
        content += _block(3, name) + _block(4, kind)
        for key, value in attributes.items():
            content += _block(5, _block(1, key) + _whole(20, 2) + _whole(3, value))
        self.nodes.append(content)
        return name

    def lists(self, kind: str, *inputs: str, **attributes: Sequence[int]) -> str:
        """The name of the output of a new node whose attributes are lists of whole numbers."""
        name = self.node(kind, *inputs)
        for key, values in attributes.items():
            listed = b"".join(_whole(8, value) for value in values)
            self.nodes[-1] += _block(5, _block(1, key) + _whole(20, 7) + listed)
        return name

    def named(self, output: str, value: str) -> None:
        """Make a value an output of the graph, under this name."""
        content = _block(1, value) + _block(2, output) + _block(4, "Identity")
        self.nodes.append(content)

    def constant(self, values: NDArray[Any]) -> str:
        """The name of a stored array of float32, int64 or uint8."""
        name = f"{self.prefix}c{len(self.constants)}"
        content = b"".join(_whole(1, size) for size in values.shape)
        content += _whole(2, KINDS[values.dtype]) + _block(8, name)
        self.constants.append(content + _block(9, np.ascontiguousarray(values).tobytes()))
        return name


def extended(
    model: bytes,
    before: GraphPart,
    after: GraphPart,
    *,
    inputs: Values,
    outputs: Values,
    metadata: Mapping[str, str],
) -> bytes:
    """A model with nodes before and after its own, and other inputs and outputs.

    Args:
        model: The ONNX file.
        before: Nodes before the model; they compute its old inputs, if the inputs change.
        after: Nodes after the model, which use its values.
        inputs: Type and shape of each input.
        outputs: Type and shape of each output.
        metadata: Properties of the file; those of the same name are replaced.
    """
    kept = b""
    for place, value in fields_of(memoryview(model)):
        if place == MODEL_GRAPH and isinstance(value, memoryview):
            kept += _block(place, _graph(value, before, after, inputs, outputs))
        elif place == MODEL_METADATA and isinstance(value, memoryview):
            key = next(bytes(v).decode() for p, v in fields_of(value) if p == 1)
            kept += b"" if key in metadata else _block(place, value)
        else:
            kept += _whole(place, value) if isinstance(value, int) else _block(place, value)
    return kept + _properties(metadata)


def alone(
    part: GraphPart,
    *,
    inputs: Values,
    outputs: Values,
    metadata: Mapping[str, str],
) -> bytes:
    """A model that consists of one part."""
    empty = _block(2, "mixmood")
    graph = _graph(memoryview(empty), GraphPart(""), part, inputs, outputs)
    head = _whole(1, IR_VERSION) + _block(2, "mixmood")
    return head + _block(MODEL_GRAPH, graph) + _block(8, _whole(2, OPSET)) + _properties(metadata)


def _graph(
    graph: memoryview,
    before: GraphPart,
    after: GraphPart,
    inputs: Values,
    outputs: Values,
) -> bytes:
    found = [_block(GRAPH_NODE, node) for node in before.nodes]
    for place, value in fields_of(graph):
        if place not in (GRAPH_INPUT, GRAPH_OUTPUT):
            found.append(_whole(place, value) if isinstance(value, int) else _block(place, value))
    found += [_block(GRAPH_NODE, node) for node in after.nodes]
    found += [_block(GRAPH_CONSTANT, one) for one in (*before.constants, *after.constants)]
    found += [_block(GRAPH_INPUT, _value(name, *kind)) for name, kind in inputs.items()]
    found += [_block(GRAPH_OUTPUT, _value(name, *kind)) for name, kind in outputs.items()]
    return b"".join(found)


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = b"".join(
        _block(1, _block(2, size) if isinstance(size, str) else _whole(1, size)) for size in shape
    )
    return _block(1, name) + _block(2, _block(1, _whole(1, kind) + _block(2, sizes)))


def _properties(metadata: Mapping[str, str]) -> bytes:
    entries = (_block(1, key) + _block(2, value) for key, value in metadata.items())
    return b"".join(_block(MODEL_METADATA, entry) for entry in entries)
