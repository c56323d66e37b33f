"""The packaged backbone as a torch network, to be fine-tuned from the frozen head's solution."""

from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mixmood.core.arrays import Codes
from mixmood.core.errors import needing
from mixmood.core.seeds import rng_for
from mixmood.heads.registry import fit_head
from mixmood.ssl.models.network import Standardise

WEIGHTS = "weights/efficientnet_lite0.onnx"
BATCH = 64
HEAD_FACTOR = 30.0  # learning rate of the head relative to the body: its weights are larger


class Padded(nn.Module):
    """A convolution whose padding may differ from side to side, as in the ONNX graph."""

    def __init__(self, weight: Tensor, bias: Tensor, attributes: dict[str, Any]) -> None:
        """Take the weights and attributes of an ONNX node, which include its batch-norm."""
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)
        top, left, bottom, right = attributes["pads"]
        self._pads = (left, right, top, bottom)
        self._stride, self._groups = tuple(attributes["strides"]), attributes["group"]

    def forward(self, x: Tensor) -> Tensor:
        """The convolved features."""
        is_even = len(set(self._pads)) == 1
        x, pad = (x, self._pads[0]) if is_even else (functional.pad(x, self._pads), 0)
        return functional.conv2d(x, self.weight, self.bias, self._stride, pad, 1, self._groups)


class TunedNetwork(nn.Module):
    """EfficientNet-Lite0 built from the nodes of its ONNX graph, and a linear head."""

    def __init__(self, n_classes: int) -> None:
        """Read the packaged file; the weights of the head are 0 until `start_from` is called."""
        super().__init__()
        with needing("Fine-tuning the backbone", "train"):
            import onnx
            from onnx import numpy_helper
        content = files("mixmood.features.backbones").joinpath(WEIGHTS).read_bytes()
        graph = onnx.load_from_string(content).graph
        constants = {
            tensor.name: numpy_helper.to_array(tensor).astype(np.float32)
            for tensor in graph.initializer
        }
        self._steps: list[tuple[Any, list[str], str]] = []  # functions, names of values
        self.body = nn.ModuleList()
        self.mean, self.deviation = np.zeros(3, np.float32), np.ones(3, np.float32)
        for node in graph.node:
            self._add(node, constants)
        self.head = nn.Linear(1280, n_classes)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def _add(self, node: Any, constants: dict[str, NDArray[np.float32]]) -> None:
        kind, inputs, output = node.op_type, list(node.input), node.output[0]
        values = [constants[name] for name in inputs if name in constants]
        if inputs[0] in constants:
            constants[output] = values[0]  # a cast: weights are read as float32
            return
        # Casts and transpositions of images do nothing: they have their channels first.
        function: Any = nn.Identity()
        if kind in ("Sub", "Div"):
            setattr(self, {"Sub": "mean", "Div": "deviation"}[kind], values[0].ravel())
        elif kind == "Conv":
            weight, bias = (torch.from_numpy(value.copy()) for value in values)
            attributes = {a.name: list(a.ints) or a.i for a in node.attribute}
            function = Padded(weight, bias, attributes)
            self.body.append(function)
        elif kind == "Clip":
            low, high = (float(value.reshape(-1)[0]) for value in values)
            function = partial(functional.hardtanh, min_val=low, max_val=high)
        elif kind == "Add":
            function = torch.add
        elif kind == "GlobalAveragePool":
            function = partial(torch.mean, dim=(2, 3))
        self._steps.append((function, [name for name in inputs if name not in constants], output))

    def features(self, images: Tensor) -> Tensor:
        """Features, shape (n, 1280), of standardised images (n, 3, side, side)."""
        values = {"images": images}
        for function, inputs, output in self._steps:
            values[output] = function(*(values[name] for name in inputs))
        return values["features"]

    def forward(self, images: Tensor) -> Tensor:
        """Logits, shape (n, classes); the head takes directions, see `heads.problem.directions`."""
        # The small constant keeps gradients finite: the slope of a root is infinite at 0.
        rows = functional.normalize((self.features(images).clamp_min(0) + 1e-6).sqrt(), dim=1)
        logits: Tensor = self.head(rows)
        return logits

    def standardise(self) -> Standardise:
        """The standardisation of pixels of 0 to 255 that the graph contains."""
        return Standardise(torch.from_numpy(self.mean), torch.from_numpy(self.deviation))

    def rate_factors(self) -> list[tuple[list[nn.Parameter], float]]:
        """Groups of parameters, and the factor of the learning rate of each group."""
        return [(list(self.body.parameters()), 1.0), (list(self.head.parameters()), HEAD_FACTOR)]

    @torch.no_grad()
    def start_from(self, images: Tensor, codes: Codes, n_classes: int) -> None:
        """Set the head to the supervised solution on frozen features of images of 0 to 255."""
        scale = self.standardise()
        parts = [self.features(scale(part.float())) for part in torch.split(images, BATCH)]
        features = torch.cat(parts).numpy()
        head = fit_head("supervised", features, codes, n_classes, None, rng_for(0, "start"))
        self.head.weight.copy_(torch.from_numpy(np.asarray(head.weights.T, np.float32)))
        self.head.bias.copy_(torch.from_numpy(np.asarray(head.bias, np.float32)))
