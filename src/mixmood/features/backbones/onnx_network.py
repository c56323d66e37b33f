"""How does a network in an ONNX file turn images into features?"""

import hashlib
import json
import threading
from contextlib import nullcontext, suppress
from copy import copy
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import BackboneError, ShapeError, errors_as
from mixmood.core.listener import Listener
from mixmood.features.backbones.backbone import PREPROCESSING, Backbone
from mixmood.features.backbones.devices import CPU, is_surely_cpu, open_on_device
from mixmood.features.backbones.onnx_graph import (
    FLOAT,
    FLOAT16,
    IMAGES,
    GraphPart,
    Values,
    extended,
)
from mixmood.features.backbones.view import DEPTHS, LAST, MIDDLE, View

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class InputFormat:
    """How pixels are prepared: x / 255 * range, then (x - mean) / std; as uint8, unchanged."""

    layout: str = "nhwc"
    dtype: str = "uint8"
    range: float = 255.0
    mean: Triple = (0.0, 0.0, 0.0)
    std: Triple = (1.0, 1.0, 1.0)

    def apply(self, batch: NDArray[np.uint8]) -> NDArray[Any]:
        """The batch, uint8 (n, side, side, 3), as the network takes it."""
        pixels: NDArray[Any] = batch
        if self.dtype != "uint8":
            mean, std = np.float32(self.mean), np.float32(self.std)  # type: ignore[arg-type]
            # Multiplied first, so that a range of 255 is exact.
            pixels = batch.astype(np.float32) * np.float32(self.range) / np.float32(255)
            pixels = ((pixels - mean) / std).astype(self.dtype)
        if self.layout == "nchw":
            pixels = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))
        return pixels

    def describe(self) -> dict[str, Any]:
        """The entry in a record; only the layout for an input of uint8."""
        return {"layout": self.layout} if self.dtype == "uint8" else asdict(self)


MICRO_BATCH = 16
MICRO_BATCH_PIXELS = MICRO_BATCH * 96**2
"""What a micro-batch may hold at most, so that activations fit the processor's cache.

At 224 pixels, 2 images at once take 0.78 of the time of 16 and 170 MB less; at 160 pixels, 5 take
0.85. No bit of the features changes.
"""
FLOATS = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64"}


@dataclass(frozen=True)
class MiddleLayer:
    """Activations within a graph from `images`, uint8 (n, side, side, 3), to `features`."""

    layer: str  # their name, of shape (n, channels, height, width)
    width: int  # the number of features of the block: channels * 4

    def add(self, part: GraphPart) -> str:
        """The name of the block: means over a 2 x 2 grid of even sides, in half precision."""
        halves = part.node("Split", self.layer, n_outputs=2, axis=2)
        rows = []
        for half in (halves, f"{halves}_1"):
            cells = part.node("Split", half, n_outputs=2, axis=3)
            means = [part.node("GlobalAveragePool", cell) for cell in (cells, f"{cells}_1")]
            rows.append(part.node("Concat", *means, axis=3))
        grid = part.node("Flatten", part.node("Concat", *rows, axis=2), axis=1)
        return part.node("Cast", part.node("Cast", grid, to=FLOAT16), to=FLOAT)

    def graph(self, model: bytes, last: Values) -> bytes:
        """The model with the block as an output, beside the last layer, or alone."""
        part = GraphPart("mixmood_grid_")
        part.named(MIDDLE, self.add(part))
        return extended(
            model,
            GraphPart(),
            part,
            inputs=IMAGES,
            outputs={**last, MIDDLE: (FLOAT, ["n", self.width])},
            metadata={},
            is_pruned=not last,
        )


class OnnxBackbone(Backbone):
    """A network in an ONNX file, from uint8 images (n, side, side, 3) to float32 features.

    Several threads may call it at once. A session has one thread: two are no faster on an idle
    machine and half as fast on a busy one. All views share the sessions, opened when first needed.
    """

    batch_size = MICRO_BATCH

    def __init__(
        self,
        name: str,
        network: bytes,
        resolution: int,
        *,
        resolutions: tuple[int, ...] | None = None,
        session: Any = None,
        input_format: InputFormat | None = None,
        output: str | None = None,
        fixed_batch: int | None = None,
        width: int | None = None,
        middle: MiddleLayer | None = None,
    ) -> None:
        """Take the network as the bytes of its file; it is loaded when it is first needed.

        Args:
            resolutions: The sides that may be chosen; the given one only by default.
            session: The session for `network`, if it is already open.
            input_format: How pixels are prepared; unchanged uint8 by default.
            output: The output that holds the features; the first by default.
            fixed_batch: The batch size, if others are refused or change the last bits.
            width: The number of features; with it and `output`, the network is loaded when needed.
            middle: Where the block `middle` comes from; `width` must be given.
        """
        self.name, self.network, self.resolution = name, network, resolution
        self.input_format = input_format or InputFormat()
        self.batch_size = fixed_batch or self.batch_size
        self._is_fixed = fixed_batch is not None
        self._weights_sha256 = hashlib.sha256(network).hexdigest()
        self._resolutions = resolutions or (resolution,)
        self.depths = (LAST,) if middle is None else tuple(DEPTHS)
        self._known_width, self._known_output, self._middle = width, output, middle
        self._with_last = False
        self._sessions: dict[bool, Any] = {} if session is None else {False: session}
        """By whether `middle` alone is computed."""
        self._opening, self._running = threading.RLock(), threading.Lock()

    @property
    def blocks(self) -> dict[str, int]:
        """Name and width of the blocks that `embed` computes."""
        return self._widths(self._names)

    @property
    def _names(self) -> tuple[str, ...]:
        own = DEPTHS[self.depth]
        return (LAST, *own) if self._with_last and LAST not in own else own

    def _widths(self, names: tuple[str, ...]) -> dict[str, int]:
        middle = self._middle.width if self._middle else 0
        return {name: self._last_width if name == LAST else middle for name in names}

    @cached_property
    def width(self) -> int:  # type: ignore[override]
        """The number of features of an image in this view; if not known, found by a trial run."""
        return sum(self._widths(DEPTHS[self.depth]).values())

    @cached_property
    def _last_width(self) -> int:
        return self._known_width or int(self._trial().shape[1])

    def _trial(self) -> NDArray[np.float32]:
        ramp = np.arange(self.resolution**2 * 3) % 256
        return self.embed(ramp.astype(np.uint8).reshape(1, self.resolution, self.resolution, 3))

    @cached_property
    def resolutions(self) -> tuple[int, ...]:
        """The resolutions without those that the network refuses, whatever its input says."""
        if self._known_width is not None or len(self._resolutions) == 1:
            return self._resolutions
        working = []
        for side in self._resolutions:
            with suppress(BackboneError):
                self.at(View(side))._trial()
                working.append(side)
        return tuple(working)

    def at(self, view: View, *, with_last: bool = False) -> Self:
        """This network with another view; weights and sessions are shared."""
        if len(self._resolutions) == 1:
            super().at(view)
        self.check_depth(view.depth)
        other = copy(self)
        for cached in ("width", "_last_width", "fingerprint"):
            other.__dict__.pop(cached, None)
        other.resolution, other.depth, other._with_last = view.resolution, view.depth, with_last
        return other

    def use_device(self, device: str, listener: Listener | None = None) -> None:
        """Compute on this device from now on; BackboneError if it cannot be used."""
        if not is_surely_cpu(device):
            self._sessions[False], self.device = open_on_device(
                self._graph(False), device, listener
            )

    def _graph(self, is_middle_only: bool) -> bytes:
        if self._middle is None or self._known_width is None:
            return self.network
        last: Values = {"features": (FLOAT, ["n", self._known_width])}
        return self._middle.graph(self.network, {} if is_middle_only else last)

    def _session(self, is_middle_only: bool = False) -> Any:
        """A session; that of the last layer computes `middle` too, which takes no time.

        Without the last layer it needs a quarter less time at 224 pixels, a third less at 96.
        """
        with self._opening:
            if is_middle_only not in self._sessions:
                graph = self._graph(is_middle_only)
                self._sessions[is_middle_only] = open_on_device(graph, self.device)[0]
            return self._sessions[is_middle_only]

    def graph_names(self) -> tuple[str, str] | None:
        """The graph's input and its last layer; None if it cannot be a part of another graph.

        It can if it embeds images alone, from uint8 or single floats to single floats (n, d).
        """
        if self.is_batch_dependent or self._is_fixed:
            return None
        output = next(one for one in self._session().get_outputs() if one.name == self._output)
        is_plain = output.type == "tensor(float)" and len(output.shape) == 2
        is_plain &= self.input_format.dtype in ("uint8", "float32")
        return (self.input_name, self._output) if is_plain else None

    def add_blocks(self, part: GraphPart) -> dict[str, str]:
        """The names of the blocks of the view; nodes that compute them are added to `part`."""
        return {
            name: self._output if name == LAST or self._middle is None else self._middle.add(part)
            for name in DEPTHS[self.depth]
        }

    @cached_property
    def input_name(self) -> str:
        """The name of the graph's input."""
        return str(self._session().get_inputs()[0].name)

    @cached_property
    def _output(self) -> str:
        return self._known_output or str(self._session().get_outputs()[0].name)

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
        """A hex digest of weights, output, preprocessing and resolution; the same at any depth."""
        words = {**self._preparation, "weights": self._weights_sha256, "output": self._output}
        return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()

    @property
    def _preparation(self) -> dict[str, Any]:
        return {
            "resolution": self.resolution,
            "preprocessing": PREPROCESSING,
            "input": self.input_format.describe(),
            "device": self.device,
        }

    def describe(self) -> dict[str, Any]:
        """The entry of the backbone in a record."""
        return {
            "name": self.name,
            "weights_sha256": self._weights_sha256,
            "resolution": self.resolution,
            "width": self.width,
            **self._preparation,
        }

    def embed(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Features of images, computed in micro-batches that fit the processor's cache."""
        check_batch(batch, self.resolution)
        if not len(batch):
            return np.empty((0, sum(self.blocks.values())), np.float32)
        size = self.batch_size
        if not self._is_fixed and self.device == CPU:
            size = max(1, min(size, MICRO_BATCH_PIXELS // self.resolution**2))
        return np.concatenate(
            [self._run(batch[start : start + size]) for start in range(0, len(batch), size)]
        )

    def _run(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        n_images = len(batch)
        if self._is_fixed and n_images < self.batch_size:
            n_missing = self.batch_size - n_images
            batch = np.pad(batch, ((0, n_missing), (0, 0), (0, 0), (0, 0)), mode="edge")
        inputs = {self.input_name: self.input_format.apply(batch)}
        outputs = [self._output if name == LAST else name for name in self._names]
        start = f"{self.name} cannot embed images of {self.resolution} x {self.resolution} pixels"
        # A graphics card runs one batch at a time, and DirectML's sessions require that.
        turn = nullcontext() if self.device == CPU else self._running
        with errors_as(BackboneError, start, "Choose another resolution or layout."), turn:
            found = self._session(self._names == (MIDDLE,)).run(outputs, inputs)
        parts = [self._checked(np.asarray(one), len(batch)) for one in found]
        return (parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1))[:n_images]

    def _checked(self, found: NDArray[Any], n_rows: int) -> NDArray[np.float32]:
        """Features (n, d), or the means of maps, (n, d, h, w) or (n, h, w, d), over the image."""
        if found.ndim == 4:
            axes = (2, 3) if self.input_format.layout == "nchw" else (1, 2)
            found = np.asarray(found.mean(axis=axes, dtype=np.float64))
        if found.ndim != 2 or len(found) != n_rows or found.dtype.kind != "f":
            raise BackboneError(
                f"Output '{self._output}' of {self.name} must hold features as (n, d), or maps of "
                f"features with four axes, as floats; got {found.dtype} {found.shape}. "
                "Name another output with ?output=NAME."
            )
        features = found.astype(np.float32)
        if not np.isfinite(features).all():
            raise BackboneError(
                f"{self.name} gave features that are not finite. "
                "Check the range, mean and std of its input."
            )
        return features


def check_batch(batch: NDArray[np.uint8], resolution: int) -> None:
    """Refuse images that are not uint8 RGB squares of the backbone's resolution."""
    wanted = (resolution, resolution, 3)
    if batch.dtype != np.uint8 or batch.shape[1:] != wanted:
        raise ShapeError(
            f"A batch must be uint8 of shape (n, {resolution}, {resolution}, 3); "
            f"got {batch.dtype} {batch.shape}. Resize the images first."
        )
