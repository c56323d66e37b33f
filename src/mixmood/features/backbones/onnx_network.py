"""How does a network in an ONNX file turn images into features?"""

import hashlib
import json
import threading
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import BackboneError, ShapeError, reason
from mixmood.features.backbones.backbone import PREPROCESSING
from mixmood.features.backbones.devices import (
    CPU,
    check_device,
    is_surely_cpu,
    onnx_runtime,
    open_on_device,
)

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
FLOATS = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64"}


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
        session: Any = None,
        input_format: InputFormat | None = None,
        output: str | None = None,
        fixed_batch: int | None = None,
        width: int | None = None,
    ) -> None:
        """Take the network as the bytes of its file; it is loaded when it is first needed.

        Args:
            name: The name in records.
            model: The ONNX file.
            resolution: The side of the images.
            session: The session for `model`, if it is already open.
            input_format: How pixels are prepared; unchanged uint8 by default.
            output: The output that holds the features; the first by default.
            fixed_batch: The batch size, for a graph that takes no other or whose features might
                depend on it in the last bits; short batches are filled with copies.
            width: The number of features, if it is known without loading the network. With
                `output`, a run that finds all features in the cache need not load it.
        """
        self.name = name
        self.resolution = resolution
        self.batch_size = fixed_batch or self.batch_size
        self._is_fixed = fixed_batch is not None
        self._format = input_format or InputFormat()
        self._weights_sha256 = hashlib.sha256(model).hexdigest()
        self._model, self._opened = model, session
        self._opening, self._running = threading.Lock(), threading.Lock()
        self._known_width, self._known_output = width, output
        self.device = CPU

    @cached_property
    def width(self) -> int:
        """The number of features of an image; if not known, found by a trial run."""
        if self._known_width is not None:
            return self._known_width
        ramp = np.arange(self.resolution**2 * 3) % 256
        image = ramp.astype(np.uint8).reshape(1, self.resolution, self.resolution, 3)
        return int(self.embed(image).shape[1])

    def use_device(self, device: str) -> None:
        """Compute on this device from now on; BackboneError if it cannot be used."""
        if not is_surely_cpu(check_device(device)):
            with self._opening:
                self._opened, self.device = open_on_device(self._model, session_options(), device)

    @property
    def _session(self) -> Any:
        with self._opening:
            if self._opened is None:
                self._opened = open_session(self._model)
            return self._opened

    @property
    def network(self) -> bytes:
        """The ONNX file."""
        return self._model

    @property
    def input_format(self) -> InputFormat:
        """How pixels are prepared for the network."""
        return self._format

    def graph_names(self) -> tuple[str, str] | None:
        """The graph's input and output, if it can be a part of another graph; else None.

        It can if it embeds each image alone, takes uint8 or single floats, and its output holds
        features (n, d) as single floats.
        """
        if self.is_batch_dependent or self._is_fixed:
            return None
        output = next(one for one in self._session.get_outputs() if one.name == self._output)
        is_plain = output.type == "tensor(float)" and len(output.shape) == 2
        is_plain = is_plain and self._format.dtype in ("uint8", "float32")
        return (self._input, self._output) if is_plain else None

    @cached_property
    def _input(self) -> str:
        return str(self._session.get_inputs()[0].name)

    @cached_property
    def _output(self) -> str:
        return self._known_output or str(self._session.get_outputs()[0].name)

    @cached_property
    def fingerprint(self) -> str:
        """A hex digest of weights, output, preprocessing and resolution."""
        words = {**self.describe(), "name": None, "output": self._output}
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
            return np.empty((0, self.width), np.float32)
        size = self.batch_size
        return np.concatenate(
            [self._run(batch[start : start + size]) for start in range(0, len(batch), size)]
        )

    def _run(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        n_images = len(batch)
        if self._is_fixed and n_images < self.batch_size:
            n_missing = self.batch_size - n_images
            batch = np.pad(batch, ((0, n_missing), (0, 0), (0, 0), (0, 0)), mode="edge")
        inputs = {self._input: self._format.apply(batch)}
        try:
            # A graphics card runs one batch at a time, and DirectML's sessions require that.
            with nullcontext() if self.device == CPU else self._running:
                (found,) = self._session.run([self._output], inputs)
        except Exception as error:
            # ONNX Runtime has no public base class of its errors.
            raise BackboneError(
                f"{self.name} cannot embed images of {self.resolution} x {self.resolution} pixels: "
                f"{reason(error)}. Choose another resolution or layout."
            ) from error
        return self._checked(self._pooled(np.asarray(found)), len(batch))[:n_images]

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
