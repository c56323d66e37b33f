"""A head as an ONNX graph: with its backbone, from images; or alone, from features."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.onnx_graph import FLOAT, UINT8, GraphPart, Values, alone, extended
from mixmood.features.backbones.onnx_network import InputFormat, OnnxBackbone
from mixmood.heads.linear import LinearHead
from mixmood.ssl.head.typicality import Typicality
from mixmood.ssl.predict import INPUT, METADATA

FEATURES, PROBABILITIES, TYPICALITY = "features", "probabilities", "typicality"


def model_file(
    head: LinearHead, typicality: Typicality, backbone: Backbone | None, known: Mapping[str, Any]
) -> tuple[bytes, str]:
    """The ONNX file, and the name of its input: `images` or `features`.

    The input is images if the backbone is an ONNX graph that embeds each image alone. Otherwise
    the file holds the head without the backbone, and its input is features.

    Args:
        head: The classifier.
        typicality: How much an image resembles the labelled ones.
        backbone: The backbone that computed the features.
        known: Facts that `predict` needs; they are written into the metadata of the file.
    """
    outputs: Values = {
        PROBABILITIES: (FLOAT, ["n", len(head.bias)]),
        TYPICALITY: (FLOAT, ["n", 1]),
    }
    network = _network(backbone)
    takes = FEATURES if network is None else INPUT
    metadata = {METADATA: json.dumps(dict(known) | {"input": takes})}
    if network is None or backbone is None:
        part = GraphPart("mixmood_")
        _add_head(part, FEATURES, head, typicality)
        inputs: Values = {FEATURES: (FLOAT, ["n", len(head.weights)])}
        return alone(part, inputs=inputs, outputs=outputs, metadata=metadata), takes
    model, images, features, pixel_format = network
    before, after = GraphPart("mixmood_in_"), GraphPart("mixmood_")
    if images != INPUT or pixel_format.dtype != "uint8" or pixel_format.layout != "nhwc":
        _add_pixels(before, images, pixel_format)
    _add_head(after, features, head, typicality)
    side = backbone.resolution
    inputs = {INPUT: (UINT8, ["n", side, side, 3])}
    made = extended(model, before, after, inputs=inputs, outputs=outputs, metadata=metadata)
    return made, takes


def _network(backbone: Backbone | None) -> tuple[bytes, str, str, InputFormat] | None:
    """File, names of input and output, and input format of a backbone; None if it cannot be part
    of one graph with the head."""
    if not isinstance(backbone, OnnxBackbone):
        return None
    names = backbone.graph_names()
    return (backbone.network, *names, backbone.input_format) if names else None


def _add_pixels(part: GraphPart, name: str, wanted: InputFormat) -> None:
    """Convert uint8 images (n, side, side, 3) to the input `name` of the network."""
    value = INPUT
    if wanted.dtype != "uint8":
        value = part.node("Cast", value, to=FLOAT)
        scale = np.float32(wanted.range) / np.float32(255)
        for kind, number in (("Mul", scale), ("Sub", wanted.mean), ("Div", wanted.std)):
            constant = np.asarray(number, np.float32).reshape(-1)
            value = part.node(kind, value, part.constant(constant))
    if wanted.layout == "nchw":
        value = part.node("Transpose", value, perm=[0, 3, 1, 2])
    part.named(name, value)


def _add_head(part: GraphPart, features: str, head: LinearHead, typicality: Typicality) -> None:
    """Add softmax((directions(x) @ weights + bias) / temperature), and the mean nearest cosine.

    It uses only operators that have the same meaning in all ONNX versions from 10 on; sums are
    therefore products with ones. The squares of signed roots are the absolute features.
    """
    size = part.node("Abs", features)
    roots = part.node("Mul", part.node("Sign", features), part.node("Sqrt", size))
    width = len(head.weights)
    total = part.node("MatMul", size, _constant(part, np.ones((width, 1))))
    length = part.node("Max", part.node("Sqrt", total), _constant(part, np.array([1e-30])))
    rows = part.node("Div", roots, length)
    product = part.node("MatMul", rows, _constant(part, head.weights / head.temperature))
    logits = part.node("Add", product, _constant(part, head.bias / head.temperature))
    part.named(PROBABILITIES, part.node("Softmax", logits, axis=1))
    cosines = part.node("MatMul", rows, _constant(part, typicality.references.T))
    count = part.constant(np.array([typicality.n_nearest], np.int64))
    nearest = part.node("TopK", cosines, count, n_outputs=2, axis=1)
    shares = np.full((typicality.n_nearest, 1), 1 / typicality.n_nearest)
    part.named(TYPICALITY, part.node("MatMul", nearest, _constant(part, shares)))


def _constant(part: GraphPart, values: NDArray[Any]) -> str:
    return part.constant(np.asarray(values, np.float32))
