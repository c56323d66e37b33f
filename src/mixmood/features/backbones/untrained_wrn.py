"""The network of the paper's released code for distances: a Wide-ResNet with random weights.

Its batch-norms take their statistics from the batch: an image's features depend on the other
images of its batch, formed in the order in which images are asked for, which the seed decides. They
are never cached, and a ranking reads all images at once: rounds (`until`) would form other batches.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from mixmood.core.seeds import rng_for
from mixmood.features.backbones.backbone import check_resolution
from mixmood.features.backbones.onnx_graph import ConvGraph
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
    graph = RandomGraph(rng=rng_for(seed, NAME))
    # ImageNet's statistics: the paper does not say which were used.
    x = graph.random_conv(graph.images(), 3, FIRST)
    channels = FIRST
    for group in range(GROUPS):
        wide = FIRST * WIDENING * 2**group
        for block in range(BLOCKS):
            x = graph.block(x, channels, wide, stride=2 if group and not block else 1)
            channels = wide
    features = graph.pool(graph.norm_relu(x))
    return graph.save(NAME, {"features": (features, WIDTH)}, "Wide-ResNet, random weights.")


@dataclass
class RandomGraph(ConvGraph):
    """A graph whose convolutions have random weights."""

    rng: np.random.Generator = field(kw_only=True)

    def block(self, x: str, before: int, after: int, stride: int) -> str:
        """Norm, convolution, norm, convolution; a fifth of the result is added to the shortcut."""
        shortcut = start = self.norm_relu(x)
        if before != after:
            shortcut = self.random_conv(start, before, after, kernel=1, stride=stride)
        inner = self.norm_relu(self.random_conv(start, before, after, stride=stride))
        inner = self.random_conv(inner, after, after)
        weak = self.node("Mul", inner, self.constant(np.float32(RESIDUAL)))
        return self.node("Add", weak, shortcut)

    def random_conv(
        self, x: str, before: int, after: int, *, kernel: int = 3, stride: int = 1
    ) -> str:
        """A convolution with He's normal weights: variance 2 / fan-in."""
        deviation = np.sqrt(2 / (before * kernel**2))
        weight = self.rng.standard_normal((after, before, kernel, kernel)) * deviation
        pads = (kernel // 2, kernel // 2)
        return self.conv(x, weight.astype(np.float32), stride=stride, pads=pads)

    def norm_relu(self, x: str) -> str:
        """Batch-norm by the statistics of the current batch, then ReLU."""
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[0, 2, 3]))
        squares = self.node("Mul", centred, centred)
        variance = self.node("ReduceMean", squares, axes=[0, 2, 3])
        safe = self.node("Add", variance, self.constant(np.float32(EPSILON)))
        return self.node("Relu", self.node("Div", centred, self.node("Sqrt", safe)))
