"""The file of a head: typicality, its ONNX graph with or without the backbone, and its check."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import OutputError
from mixmood.data.images.pool import ImageSource
from mixmood.evidence.accuracy import keep_threshold
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.onnx_graph import FLOAT, UINT8, GraphPart, Values, alone, extended
from mixmood.features.backbones.onnx_network import InputFormat, OnnxBackbone
from mixmood.features.backbones.view import LAST, MIDDLE, TINY
from mixmood.features.sample import Sample
from mixmood.heads.problem import LinearHead, directions
from mixmood.ssl.pools import pictures_at
from mixmood.ssl.predict import INPUT, METADATA

N_NEAREST = 3
KEPT_SHARE = 0.95
MOST_REFERENCES = 2000  # labelled images in a model file; more would not improve its answers


@dataclass(frozen=True)
class Typicality:
    """The mean cosine to the three nearest labelled images, and its threshold."""

    references: NDArray[np.float32]  # directions of labelled images, shape (m, d)
    n_nearest: int
    threshold: float | None  # 95 % of the labelled images reach it; None if unknown

    def __call__(self, features: Array) -> NDArray[np.float32]:
        """The typicality of each row of features (n, d), at most 1; shape (n,)."""
        rows = directions(np.asarray(features, np.float32))
        cosines = np.asarray(rows @ self.references.T, np.float32)
        return _mean_of_largest(cosines, self.n_nearest)


def fit_typicality(
    features: Array, rng: np.random.Generator, groups: Codes | None = None
) -> Typicality:
    """References and threshold from labelled features, shape (n, d).

    Each labelled image is compared with the other ones (of other groups). The threshold is the
    k-th smallest value, k = floor((n + 1) * 5 %): a new image like the labelled ones is below it
    with a probability of at most 5 %. With fewer than 19 images there is none.
    """
    rows = directions(np.asarray(features, np.float32))
    if len(rows) > MOST_REFERENCES:
        keep = np.sort(rng.choice(len(rows), MOST_REFERENCES, replace=False))
        rows, groups = rows[keep], None if groups is None else groups[keep]
    own = np.arange(len(rows)) if groups is None else groups
    cosines = np.asarray(rows @ rows.T, np.float32)
    cosines[own[:, None] == own[None, :]] = np.float32(-np.inf)
    n_others = int(np.isfinite(cosines).sum(axis=1).min())
    n_nearest = min(N_NEAREST, max(1, n_others))
    threshold = None
    if n_others:
        # `keep_threshold` returns 0 if there are too few images for a guarantee.
        threshold = keep_threshold(_mean_of_largest(cosines, n_nearest), KEPT_SHARE) or None
    return Typicality(np.asarray(rows, np.float32), n_nearest, threshold)


def _mean_of_largest(values: NDArray[np.float32], n_largest: int) -> NDArray[np.float32]:
    largest = np.partition(values, values.shape[1] - n_largest, axis=1)[:, -n_largest:]
    return np.asarray(largest.mean(axis=1), np.float32)


FEATURES, PROBABILITIES, TYPICALITY = "features", "probabilities", "typicality"


def model_file(
    head: LinearHead, typicality: Typicality, backbone: Backbone | None, known: Mapping[str, Any]
) -> tuple[bytes, str]:
    """The ONNX file, and the name of its input: `images` or `features`.

    The input is images if the backbone is an ONNX graph that embeds each image alone. Otherwise
    the file holds the head alone. `known` are facts for its metadata, which `predict` needs.
    """
    outputs: Values = {PROBABILITIES: (FLOAT, ["n", len(head.bias)]), TYPICALITY: (FLOAT, ["n", 1])}
    names = backbone.graph_names() if isinstance(backbone, OnnxBackbone) else None
    takes = FEATURES if names is None else INPUT
    metadata = {METADATA: json.dumps({**known, "input": takes})}
    if names is None or not isinstance(backbone, OnnxBackbone):
        part = GraphPart("mixmood_")
        _add_head(part, FEATURES, head, typicality)
        inputs: Values = {FEATURES: (FLOAT, ["n", len(head.weights)])}
        return alone(part, inputs=inputs, outputs=outputs, metadata=metadata), takes
    images, pixel_format = names[0], backbone.input_format
    before, after = GraphPart("mixmood_in_"), GraphPart("mixmood_")
    if images != INPUT or pixel_format.dtype != "uint8" or pixel_format.layout != "nhwc":
        _add_pixels(before, images, pixel_format)
    _add_head(after, _add_features(after, backbone), head, typicality)
    side = backbone.resolution
    inputs = {INPUT: (UINT8, ["n", side, side, 3])}
    made = extended(
        backbone.network,
        before,
        after,
        inputs=inputs,
        outputs=outputs,
        metadata=metadata,
        is_pruned=backbone.depth == MIDDLE,
    )
    return made, takes


def _add_features(part: GraphPart, network: OnnxBackbone) -> str:
    """The name of the features in the view of the network, as `joined` computes them."""
    blocks, parts = network.add_blocks(part), []
    if network.depth == LAST:
        return blocks[LAST]
    for name, value in blocks.items():
        ones = part.constant(np.ones((network.blocks[name], 1)))
        total = part.node("MatMul", part.node("Abs", value), ones)
        least = part.node("Max", total, part.constant(np.array([TINY])))
        parts.append(part.node("Div", value, least))
    return parts[0] if len(parts) == 1 else part.node("Concat", *parts, axis=1)


def _add_pixels(part: GraphPart, name: str, wanted: InputFormat) -> None:
    """Convert uint8 images (n, side, side, 3) to the input `name` of the network."""
    value = INPUT
    if wanted.dtype != "uint8":
        value = part.node("Cast", value, to=FLOAT)
        scale = np.float32(wanted.range) / np.float32(255)
        for kind, number in (("Mul", scale), ("Sub", wanted.mean), ("Div", wanted.std)):
            value = part.node(
                kind, value, part.constant(np.asarray(number, np.float32).reshape(-1))
            )
    if wanted.layout == "nchw":
        value = part.node("Transpose", value, perm=[0, 3, 1, 2])
    part.named(name, value)


def _add_head(part: GraphPart, features: str, head: LinearHead, typicality: Typicality) -> None:
    """Add softmax((directions(x) @ weights + bias) / temperature), and the mean nearest cosine."""
    # Only operators that have the same meaning in all ONNX versions from 10 on: sums are products
    # with ones. The squares of signed roots are the absolute features.
    size = part.node("Abs", features)
    roots = part.node("Mul", part.node("Sign", features), part.node("Sqrt", size))
    width = len(head.weights)
    total = part.node("MatMul", size, part.constant(np.ones((width, 1))))
    length = part.node("Max", part.node("Sqrt", total), part.constant(np.array([1e-30])))
    rows = part.node("Div", roots, length)
    product = part.node("MatMul", rows, part.constant(head.weights / head.temperature))
    logits = part.node("Add", product, part.constant(head.bias / head.temperature))
    part.named(PROBABILITIES, part.node("Softmax", logits, axis=1))
    cosines = part.node("MatMul", rows, part.constant(typicality.references.T))
    count = part.constant(np.array([typicality.n_nearest], np.int64))
    nearest = part.node("TopK", cosines, count, n_outputs=2, axis=1)
    shares = np.full((typicality.n_nearest, 1), 1 / typicality.n_nearest)
    part.named(TYPICALITY, part.node("MatMul", nearest, part.constant(shares)))


N_CHECKED, TOLERANCE = 16, 1e-3


def check_model(
    model: bytes,
    takes: str,
    labelled: Sample,
    side: int | None,
    head: LinearHead,
    typicality: Typicality,
) -> None:
    """Refuse a file that gives other results than the head on a few labelled images."""
    from mixmood.features.backbones.devices import open_on_device

    features = labelled.features[:N_CHECKED]
    given: dict[str, Any] = {FEATURES: np.asarray(features, np.float32)}
    if takes != FEATURES and side is not None and isinstance(labelled.pool, ImageSource):
        read = pictures_at(labelled.pool, labelled.rows[:N_CHECKED], (side, side))
        given = {takes: np.stack([np.asarray(picture) for picture in read])}
    try:
        found, typical = open_on_device(model)[0].run([PROBABILITIES, TYPICALITY], given)
    except Exception as error:
        # ONNX Runtime has no public base class for what it raises.
        raise OutputError(f"The model cannot be run by ONNX Runtime: {error}.") from error
    probability_error = float(np.abs(found - head.predict_proba(features)).max())
    typicality_error = float(np.abs(typical[:, 0] - typicality(features)).max())
    if not max(probability_error, typicality_error) <= TOLERANCE:
        raise OutputError(
            f"The model file gives other results than the head in memory: probabilities differ by "
            f"{probability_error:.2g}, typicality by {typicality_error:.2g}. Report this, with the "
            "name of the backbone."
        )
