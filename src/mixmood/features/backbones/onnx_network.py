"""How does a network in an ONNX file turn images into features?"""

import hashlib
import json
import threading
from contextlib import nullcontext
from copy import copy
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import BackboneError, OptionError, ShapeError, errors_as
from mixmood.core.listener import Listener
from mixmood.features.backbones.backbone import PREPROCESSING
from mixmood.features.backbones.devices import (
    CPU,
    check_device,
    is_surely_cpu,
    onnx_runtime,
    open_on_device,
)
from mixmood.features.backbones.onnx_graph import (
    FLOAT,
    UINT8,
    GraphPart,
    Values,
    add_grid,
    extended,
)
from mixmood.features.backbones.view import DEPTHS, LAST, MIDDLE, Offer, View

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class InputFormat:
    """How pixels are prepared for a network: x / 255 * range, then (x - mean) / std.

    A network with an input of uint8 gets them unchanged.
    """

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

    layer: str
    """Their name, of shape (n, channels, height, width)."""
    n_channels: int

    def add(self, part: GraphPart) -> str:
        """The name of the block `middle`, computed from the activations."""
        return add_grid(part, self.layer)

    @property
    def width(self) -> int:
        """The number of features of the block."""
        return 4 * self.n_channels

    def graph(self, model: bytes, width: int | None) -> bytes:
        """The model with the block as an output, beside `width` features, or alone if None."""
        part = GraphPart("mixmood_grid_")
        part.named(MIDDLE, self.add(part))
        last: Values = {} if width is None else {"features": (FLOAT, ["n", width])}
        return extended(
            model,
            GraphPart(),
            part,
            inputs={"images": (UINT8, ["n", "side", "side", 3])},
            outputs={**last, MIDDLE: (FLOAT, ["n", self.width])},
            metadata={},
            is_pruned=width is None,
        )


@dataclass
class _Sessions:
    """The sessions of one ONNX file, each opened when it is first needed.

    All views of a backbone share them: a session takes images of any size.
    """

    model: bytes
    middle: MiddleLayer | None
    width: int | None
    whole: Any = None
    """The session that computes all blocks."""
    middle_only: Any = None
    device: str = CPU
    opening: threading.RLock = field(default_factory=threading.RLock)
    running: threading.Lock = field(default_factory=threading.Lock)

    def open_whole(self, device: str, listener: Listener | None = None) -> str:
        """Open the session for all blocks, and return the device that it uses."""
        with self.opening:
            model = self.model
            if self.middle is not None and self.width is not None:
                model = self.middle.graph(model, self.width)
            self.whole, self.device = open_on_device(model, session_options(), device, listener)
        return self.device

    def get(self, blocks: tuple[str, ...]) -> Any:
        """A session that computes these blocks. It may compute `middle` too, which takes no time.

        Without the last layer it needs a quarter less time at 224 pixels, a third less at 96.
        """
        with self.opening:
            if blocks == (MIDDLE,) and self.middle is not None:
                if self.middle_only is None:
                    model = self.middle.graph(self.model, None)
                    options = session_options()
                    self.middle_only = open_on_device(model, options, self.device)[0]
                return self.middle_only
            if self.whole is None:
                self.open_whole(self.device)
            return self.whole


class OnnxBackbone:
    """A network in an ONNX file, from uint8 images (n, side, side, 3) to float32 features.

    The session has one thread; several threads may call it at once. Two threads inside the session
    are no faster on an idle machine and half as fast on a busy one.
    """

    batch_size = MICRO_BATCH
    is_batch_dependent = False

    def __init__(
        self,
        name: str,
        model: bytes,
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
            resolutions: Other sides that may be chosen; the given one only by default.
            session: The session for `model`, if it is already open.
            input_format: How pixels are prepared; unchanged uint8 by default.
            output: The output that holds the features; the first by default.
            fixed_batch: The batch size, for a graph that takes no other or whose features might
                depend on it in the last bits; short batches are filled with copies.
            width: The number of features, if it is known without loading the network. With
                `output`, a run that finds all features in the cache need not load it.
            middle: Where the block `middle` comes from, if the network offers it; `width` must
                be known.
        """
        self.name = name
        self.view = View(resolution)
        self.batch_size = fixed_batch or self.batch_size
        self._is_fixed = fixed_batch is not None
        self._format = input_format or InputFormat()
        self._weights_sha256 = hashlib.sha256(model).hexdigest()
        self._resolutions = resolutions or (resolution,)
        self._sessions = _Sessions(model, middle, width, session)
        self._known_width, self._known_output = width, output
        self._with_last = False
        self.device = CPU

    @property
    def resolution(self) -> int:
        """The side of the images."""
        return self.view.resolution

    @property
    def blocks(self) -> dict[str, int]:
        """Name and width of the blocks that `embed` computes."""
        middle = self._sessions.middle
        widths = {MIDDLE: middle.width} if middle is not None else {}
        return {name: self._last_width if name == LAST else widths[name] for name in self._names}

    @property
    def _names(self) -> tuple[str, ...]:
        own = DEPTHS[self.view.depth]
        return (LAST, *own) if self._with_last and LAST not in own else own

    @property
    def width(self) -> int:
        """The number of features of an image in this view; if not known, found by a trial run."""
        blocks = self.blocks
        return sum(blocks[name] for name in DEPTHS[self.view.depth])

    @cached_property
    def _last_width(self) -> int:
        return self._known_width or int(self._trial().shape[1])

    def _trial(self) -> NDArray[np.float32]:
        ramp = np.arange(self.resolution**2 * 3) % 256
        return self.embed(ramp.astype(np.uint8).reshape(1, self.resolution, self.resolution, 3))

    @property
    def offer(self) -> Offer:
        """The resolutions at which the network works, and its depths."""
        depths = (LAST,) if self._sessions.middle is None else tuple(DEPTHS)
        return Offer(self.name, self._working, depths)

    @cached_property
    def _working(self) -> tuple[int, ...]:
        """The resolutions without those that the network refuses, whatever its input says."""
        if self._known_width is not None or len(self._resolutions) == 1:
            return self._resolutions
        return tuple(side for side in self._resolutions if self._works_at(side))

    def _works_at(self, side: int) -> bool:
        try:
            self.at(View(side))._trial()
        except BackboneError:
            return False
        return True

    def at(self, view: View, *, with_last: bool = False) -> Self:
        """This network with another view; weights and sessions are shared."""
        depths = (LAST,) if self._sessions.middle is None else tuple(DEPTHS)
        Offer(self.name, self._resolutions, depths).check_depth(view.depth)
        if view.resolution != self.resolution and len(self._resolutions) == 1:
            raise OptionError(
                f"{self.name} takes images of {self.resolution} pixels a side only; got "
                f"{view.resolution}. Leave the resolution out."
            )
        other = copy(self)
        for cached in ("_last_width", "fingerprint"):
            other.__dict__.pop(cached, None)
        other.view, other._with_last = view, with_last
        return other

    def use_device(self, device: str, listener: Listener | None = None) -> None:
        """Compute on this device from now on; BackboneError if it cannot be used."""
        if not is_surely_cpu(check_device(device)):
            self.device = self._sessions.open_whole(device, listener)

    @property
    def _session(self) -> Any:
        return self._sessions.get((LAST,))

    @property
    def network(self) -> bytes:
        """The ONNX file."""
        return self._sessions.model

    @property
    def input_format(self) -> InputFormat:
        """How pixels are prepared for the network."""
        return self._format

    def graph_names(self) -> tuple[str, str] | None:
        """The graph's input and its last layer, if it can be a part of another graph; else None.

        It can if it embeds each image alone, takes uint8 or single floats, and its output holds
        features (n, d) as single floats.
        """
        if self.is_batch_dependent or self._is_fixed:
            return None
        output = next(one for one in self._session.get_outputs() if one.name == self._output)
        is_plain = output.type == "tensor(float)" and len(output.shape) == 2
        is_plain = is_plain and self._format.dtype in ("uint8", "float32")
        return (self.input_name, self._output) if is_plain else None

    def add_blocks(self, part: GraphPart) -> dict[str, str]:
        """The names of the blocks of the view in a graph that continues this network's own.

        Nodes that compute them are added to `part`.
        """
        middle = self._sessions.middle
        return {
            name: self._output if name == LAST or middle is None else middle.add(part)
            for name in DEPTHS[self.view.depth]
        }

    @cached_property
    def input_name(self) -> str:
        """The name of the graph's input."""
        return str(self._session.get_inputs()[0].name)

    @cached_property
    def _output(self) -> str:
        return self._known_output or str(self._session.get_outputs()[0].name)

    @cached_property
    def fingerprint(self) -> str:
        """A hex digest of weights, output, preprocessing and resolution; the same at any depth."""
        words = {
            "weights": self._weights_sha256,
            "output": self._output,
            "resolution": self.resolution,
            "preprocessing": PREPROCESSING,
            "input": self._format.describe(),
            "device": self.device,
        }
        return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """The entry of the backbone in a record."""
        return {
            "name": self.name,
            "weights_sha256": self._weights_sha256,
            "resolution": self.resolution,
            "width": self.width,
            "preprocessing": PREPROCESSING,
            "input": self._format.describe(),
            "device": self.device,
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
        inputs = {self.input_name: self._format.apply(batch)}
        outputs = [self._output if name == LAST else name for name in self._names]
        start = f"{self.name} cannot embed images of {self.resolution} x {self.resolution} pixels"
        # A graphics card runs one batch at a time, and DirectML's sessions require that.
        turn = nullcontext() if self.device == CPU else self._sessions.running
        with errors_as(BackboneError, start, "Choose another resolution or layout."), turn:
            found = self._sessions.get(self._names).run(outputs, inputs)
        parts = [self._checked(self._pooled(np.asarray(one)), len(batch)) for one in found]
        return (parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1))[:n_images]

    def _pooled(self, found: NDArray[Any]) -> NDArray[Any]:
        """Maps of features, (n, d, h, w) or (n, h, w, d), averaged over both image axes."""
        if found.ndim != 4:
            return found
        axes = (2, 3) if self._format.layout == "nchw" else (1, 2)
        return np.asarray(found.mean(axis=axes, dtype=np.float64))

    def _checked(self, found: NDArray[Any], n_rows: int) -> NDArray[np.float32]:
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


def open_session(model: bytes, n_threads: int = 1) -> Any:
    """An ONNX Runtime session on the CPU that reports errors only."""
    return open_on_device(model, session_options(n_threads), CPU)[0]


def session_options(n_threads: int = 1) -> Any:
    """Options for `n_threads` threads that report errors only."""
    options = onnx_runtime().SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return options


def check_batch(batch: NDArray[np.uint8], resolution: int) -> None:
    """Refuse images that are not uint8 RGB squares of the backbone's resolution."""
    wanted = (resolution, resolution, 3)
    if batch.dtype != np.uint8 or batch.shape[1:] != wanted:
        raise ShapeError(
            f"A batch must be uint8 of shape (n, {resolution}, {resolution}, 3); "
            f"got {batch.dtype} {batch.shape}. Resize the images first."
        )
