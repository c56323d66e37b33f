"""The network of the paper's released code for distances: a Wide-ResNet with random weights.

It was never trained, and its batch-norms work in training mode: they take their statistics from
the current batch. An image's features therefore depend on the other images of its batch.
Batches are formed in the order in which images are asked for, which the seed decides. The features
are never cached, and a ranking reads all images at once: rounds (`until`) would form other batches.
"""

from functools import cache

import numpy as np

from mixmood.core.seeds import rng_for
from mixmood.features.backbones.backbone import check_resolution
from mixmood.features.backbones.onnx_graph import (
    IMAGENET_DEVIATION,
    IMAGENET_MEAN,
    ConvGraph,
)
from mixmood.features.backbones.onnx_network import OnnxBackbone

NAME = "untrained-wrn"
GROUPS, BLOCKS, WIDENING, FIRST = 3, 4, 2, 64
WIDTH = FIRST * WIDENING * 2 ** (GROUPS - 1)
EPSILON = 1e-5
RESIDUAL = 0.2
DEFAULT_RESOLUTION = 32


class UntrainedWrn(OnnxBackbone):
    """A backbone whose features depend on the batch."""

    batch_size = 64
    is_batch_dependent = True


def untrained_wrn(resolution: int | None = None) -> OnnxBackbone:
    """The Wide-ResNet with 3 groups of 4 blocks, 64 first filters and 512 features.

    Its random weights are those of seed 0. The default is 32 pixels: every layer of the first
    group works at full size, so 96 pixels take nine times as long.
    """
    side = check_resolution(resolution, DEFAULT_RESOLUTION, smallest=DEFAULT_RESOLUTION)
    return UntrainedWrn(NAME, build(), side)


@cache
def build(seed: int = 0) -> bytes:
    """The network as an ONNX file; the seed decides the weights."""
    network = _Network(rng_for(seed, NAME))
    return network.build()


class _Network:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._graph = ConvGraph()

    def build(self) -> bytes:
        channels = 3
        # ImageNet's statistics: the paper does not say which were used.
        images = self._graph.images(IMAGENET_MEAN, IMAGENET_DEVIATION)
        x = self._conv(images, channels, FIRST)
        channels = FIRST
        for group in range(GROUPS):
            wide = FIRST * WIDENING * 2**group
            for block in range(BLOCKS):
                x = self._block(x, channels, wide, stride=2 if group and not block else 1)
                channels = wide
        features = self._graph.pool(self._norm_relu(x))
        return self._graph.save(
            NAME, {"features": (features, WIDTH)}, "Wide-ResNet, random weights."
        )

    def _block(self, x: str, before: int, after: int, stride: int) -> str:
        """Norm, convolution, norm, convolution; a fifth of the result is added to the shortcut."""
        start = self._norm_relu(x)
        shortcut = start
        if before != after:
            shortcut = self._conv(start, before, after, kernel=1, stride=stride)
        inner = self._norm_relu(self._conv(start, before, after, stride=stride))
        inner = self._conv(inner, after, after)
        weak = self._graph.node("Mul", inner, self._graph.constant(np.float32(RESIDUAL)))
        return self._graph.node("Add", weak, shortcut)

    def _conv(self, x: str, before: int, after: int, *, kernel: int = 3, stride: int = 1) -> str:
        """A convolution with He's normal weights: variance 2 / fan-in."""
        deviation = np.sqrt(2 / (before * kernel**2))
        shape = (after, before, kernel, kernel)
        weight = (self._rng.standard_normal(shape) * deviation).astype(np.float32)
        pads = (kernel // 2, kernel // 2)
        return self._graph.conv(x, weight, stride=stride, pads=pads)

    def _norm_relu(self, x: str) -> str:
        """Batch-norm by the statistics of the current batch, then ReLU."""
        graph = self._graph
        centred = graph.node("Sub", x, graph.node("ReduceMean", x, axes=[0, 2, 3]))
        squares = graph.node("Mul", centred, centred)
        variance = graph.node("ReduceMean", squares, axes=[0, 2, 3])
        safe = graph.node("Add", variance, graph.constant(np.float32(EPSILON)))
        return graph.relu(graph.node("Div", centred, graph.node("Sqrt", safe)))
