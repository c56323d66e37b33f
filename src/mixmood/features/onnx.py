"""Backbones run by ONNX Runtime."""

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import ShapeError
from mixmood.features.resize import PREPROCESSING

MICRO_BATCH = 16


class OnnxBackbone:
    """A network in an ONNX file that takes uint8 images (n, side, side, 3) as they are.

    One session with one thread of its own: parallel callers give the speed. Two threads inside
    the session are no faster on a quiet machine and half as fast on a busy one.
    """

    batch_size = MICRO_BATCH
    is_batch_dependent = False

    def __init__(self, name: str, model: bytes, resolution: int) -> None:
        """Load the network from the bytes of its file."""
        self.name = name
        self.resolution = resolution
        self._weights_sha256 = hashlib.sha256(model).hexdigest()
        self._session = open_session(model)
        self._input = self._session.get_inputs()[0].name

    @cached_property
    def width(self) -> int:
        """How many features an image gets."""
        return int(self._session.get_outputs()[0].shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """A hex digest of weights, preprocessing and resolution."""
        text = f"{self._weights_sha256} {PREPROCESSING} {self.resolution}"
        return hashlib.sha256(text.encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """What a record says about the backbone."""
        return {
            "name": self.name,
            "weights_sha256": self._weights_sha256,
            "resolution": self.resolution,
            "width": self.width,
            "preprocessing": PREPROCESSING,
        }

    def embed(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Features of images, computed in micro-batches that fit the processor's cache."""
        check_batch(batch, self.resolution)
        parts = [
            self._session.run(None, {self._input: batch[start : start + MICRO_BATCH]})[0]
            for start in range(0, len(batch), MICRO_BATCH)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.width), np.float32)


def open_session(model: bytes) -> Any:
    """An ONNX Runtime session on the CPU, with one thread, quiet but for errors."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def check_batch(batch: NDArray[np.uint8], resolution: int) -> None:
    """Refuse images that are not uint8 RGB squares of the backbone's resolution."""
    wanted = (resolution, resolution, 3)
    if batch.dtype != np.uint8 or batch.shape[1:] != wanted:
        raise ShapeError(
            f"A batch must be uint8 of shape (n, {resolution}, {resolution}, 3); "
            f"got {batch.dtype} {batch.shape}. Resize the images first."
        )
