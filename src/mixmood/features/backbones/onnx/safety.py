"""Whether an ONNX file refers to other files, found without loading it.

ONNX Runtime would open them, relative to the current directory. A file from an unknown source must
not decide which files of this machine are read.
"""

from collections.abc import Iterator

# Which fields of which message lead to tensors (https://onnx.ai, onnx.proto3).
CHILDREN: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
EXTERNAL_DATA, DATA_LOCATION = 13, 14
DEEPEST = 64


def has_external_data(model: bytes) -> bool:
    """Whether a tensor of the model is stored in another file; ValueError if it is not ONNX."""
    return any(
        field == EXTERNAL_DATA or (field == DATA_LOCATION and value == 1)
        for tensor in _tensors(memoryview(model), "model", 0)
        for field, value in fields_of(tensor)
    )


def _tensors(message: memoryview, kind: str, depth: int) -> Iterator[memoryview]:
    if kind == "tensor":
        yield message
        return
    if depth > DEEPEST:
        raise ValueError("its graphs are nested too deeply")
    for field, value in fields_of(message):
        child = CHILDREN[kind].get(field)
        if child is not None and isinstance(value, memoryview):
            yield from _tensors(value, child, depth + 1)


def fields_of(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field of a protobuf message; contents are not copied."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire_type = tag & 7
        if wire_type == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if wire_type == 2:
            size, at = _varint(message, at)
        elif wire_type in (1, 5):
            size = 8 if wire_type == 1 else 4
        else:
            raise ValueError("not an ONNX file")
        if at + size > len(message):
            raise ValueError("the file ends before its content does")
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
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
