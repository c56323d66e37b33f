"""A model of transformers as a backbone."""

import hashlib
import json
import threading
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import BackboneError, reason
from mixmood.core.suggest import unknown_name
from mixmood.features.backbones.backbone import PREPROCESSING
from mixmood.features.backbones.hub.find import model_folder
from mixmood.features.backbones.hub.inputs import agrees, check_side, processed, steps_of
from mixmood.features.backbones.hub.loading import (
    file_hashes,
    import_transformers,
    load_model,
    load_processor,
    quiet,
)
from mixmood.features.backbones.hub.pooling import as_output, possible_poolings, vector_of
from mixmood.features.backbones.onnx.network import check_batch

DEVICES = ("auto", "cpu", "cuda", "mps")
BATCH_PIXELS = 16 * 224 * 224
"""Pixels in a batch on a processor; its activations stay below about a gigabyte."""
TIMES_ON_A_CARD = 4
"""A batch on a graphics card is so many times larger."""


class HubBackbone:
    """An image model, from uint8 images (n, side, side, 3) to float32 features.

    Images come as squares, as for every backbone; crop, scale and standardisation are those of
    the model's own processor. One batch is computed at a time, by torch's own threads. A short
    batch is filled with copies, so that features do not depend on the number of images.
    """

    is_batch_dependent = False

    def __init__(self, name: str, resolution: int | None = None) -> None:
        """Load `hf:NAME`, `hf:NAME@REVISION` or `hf:DIR`; BackboneError if it cannot be used."""
        self.name, self.device = name, "cpu"
        folder = model_folder(name)
        transformers = import_transformers()
        with quiet(transformers):
            self._processor = load_processor(transformers, folder)
            self._steps = steps_of(self._processor.to_dict())
            check_side(resolution, self._steps.side)
            self._model, has_pooler = load_model(transformers, folder)
        self._takes_texts = False
        self._is_fast = agrees(self._steps, self._processor)
        self._lock = threading.Lock()
        self._hashes = file_hashes(folder)
        self.resolution = self._steps.side
        self.batch_size = _images_at_once(self.resolution)
        self._pooling, self.width = self._pooling_and_width(has_pooler)

    def use_device(self, device: str) -> None:
        """Compute on this device from now on; BackboneError if it cannot be used."""
        import torch

        if device not in DEVICES:
            raise unknown_name("device of a model of the hub", device, DEVICES)
        is_available = {
            "cuda": torch.cuda.is_available(),
            "mps": torch.backends.mps.is_available(),
            "cpu": True,
        }
        chosen = (
            next(name for name in is_available if is_available[name])
            if device == "auto"
            else device
        )
        if not is_available[chosen]:
            raise BackboneError(
                f"The device {device} cannot be used: torch finds none on this machine. "
                "Check the driver and torch's build, or leave --device out."
            )
        self.device = chosen
        self._model.to(chosen)
        times = TIMES_ON_A_CARD if chosen != "cpu" else 1
        self.batch_size = times * _images_at_once(self.resolution)

    @cached_property
    def fingerprint(self) -> str:
        """A hex digest of weights, settings, pooling, libraries and device."""
        import torch

        words = {**self.describe(), "name": None, "torch": torch.__version__, **self._hashes}
        return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """The entry of the backbone in a record."""
        return {
            "name": self.name,
            "family": str(self._model.config.model_type),
            "weights_sha256": self._hashes["weights"],
            "resolution": self.resolution,
            "width": self.width,
            "pooling": self._pooling,
            "preprocessing": f"{PREPROCESSING}, then {type(self._processor).__name__}",
            "device": self.device,
        }

    def embed(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Features of images."""
        check_batch(batch, self.resolution)
        if not len(batch):
            return np.empty((0, self.width), np.float32)
        features = self._in_parts(batch)
        self._check_finite(features)
        return features

    def _in_parts(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Features in batches; where memory does not suffice, the batch size is halved for good."""
        size = self.batch_size
        try:
            parts = [self._run(batch[start : start + size]) for start in range(0, len(batch), size)]
        except RuntimeError as error:
            if not _is_out_of_memory(error):
                raise
            if size == 1:
                raise BackboneError(
                    f"{self.name} needs more memory on the device {self.device} than there is, "
                    "for one image. Choose a smaller model, or another device."
                ) from error
            self.batch_size = min(self.batch_size, size // 2)
            return self._in_parts(batch)
        return np.concatenate(parts)

    def _run(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        n_images = len(batch)
        if n_images < self.batch_size:
            filling = ((0, self.batch_size - n_images), (0, 0), (0, 0), (0, 0))
            batch = np.pad(batch, filling, mode="edge")
        return vector_of(self._output(batch), self._pooling)[:n_images]

    def _output(self, batch: NDArray[np.uint8]) -> Any:
        """The output of the model for a batch; of a model of images and texts, its image part."""
        import torch

        is_fast = self._is_fast
        pixels = self._steps.apply(batch) if is_fast else processed(self._processor, batch)
        with self._lock, torch.inference_mode():
            given = torch.from_numpy(pixels).to(self.device)
            if self._takes_texts:
                return as_output(self._model.get_image_features(pixel_values=given))
            return self._model(pixel_values=given)

    def _pooling_and_width(self, has_pooler: bool) -> tuple[str, int]:
        """How the output becomes a vector, and the length of this, from a trial image."""
        output = self._first_output()
        names = [name for name, _ in self._model.named_parameters()]
        has_class_token = any(name.endswith("cls_token") for name in names)
        for pooling in possible_poolings(output, has_pooler, has_class_token):
            vector = vector_of(output, pooling)
            if vector.ndim == 2 and vector.shape[1] > 0:
                self._check_finite(vector)
                self._check_repeats(vector, pooling)
                return pooling, int(vector.shape[1])
        raise BackboneError(
            f"{self.name} gives no vector for an image: its output has "
            f"{', '.join(output.keys()) or 'nothing'}. Choose a model of images."
        )

    def _first_output(self) -> Any:
        shape = (1, self.resolution, self.resolution, 3)
        image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
        try:
            return self._output(image)
        except Exception as error:
            if not self._takes_texts and hasattr(self._model, "get_image_features"):
                self._takes_texts = True
                return self._first_output()
            raise BackboneError(
                f"{self.name} cannot embed an image: {reason(error)}. Choose a model of images."
            ) from error

    def _check_finite(self, features: NDArray[np.float32]) -> None:
        if not np.isfinite(features).all():
            raise BackboneError(
                f"{self.name} gave features that are not finite. Check its weights, and the mean "
                "and std in its preprocessor_config.json."
            )

    def _check_repeats(self, vector: NDArray[np.float32], pooling: str) -> None:
        """Refuse a model that masks random parts of an image, as ViT-MAE does."""
        if not np.allclose(vector, vector_of(self._first_output(), pooling), atol=1e-3, rtol=1e-3):
            raise BackboneError(
                f"{self.name} gives different features each time for the same image: the family "
                f"{self._model.config.model_type} masks parts of it at random. Choose a model of "
                "another family."
            )


def _is_out_of_memory(error: RuntimeError) -> bool:
    """Whether memory was exhausted; torch has an error class for that of a card only."""
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error)


def _images_at_once(side: int) -> int:
    return max(1, min(64, BATCH_PIXELS // side**2))
