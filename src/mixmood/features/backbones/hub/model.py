"""A model of transformers as a backbone."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import BackboneError, MissingExtraError, reason
from mixmood.core.suggest import unknown_name
from mixmood.features.backbones.backbone import PREPROCESSING
from mixmood.features.backbones.hub.find import CONFIG, SETTINGS, WEIGHTS, model_folder
from mixmood.features.backbones.hub.inputs import agrees, check_side, processed, steps_of
from mixmood.features.backbones.onnx.network import check_batch

DEVICES = ("auto", "cpu", "cuda", "mps")
VISION_TOWERS = {"clip": "CLIPVisionModelWithProjection", "siglip": "SiglipVisionModel"}
"""Families of two towers, by the name of the class that holds the one for images."""
BATCH_PIXELS = 16 * 224 * 224
"""Pixels in a batch on a processor; its activations stay below about a gigabyte."""
ON_A_CARD = 4
"""How many times as many are taken at once on a graphics card."""


class HubBackbone:
    """An image model, from uint8 images (n, side, side, 3) to float32 features.

    Images come as squares, as for every backbone; crop, scale and standardisation are those of
    the model's own processor. One batch is computed at a time, by torch's own threads. Short
    batches are filled with copies: features do not depend on how many images come at once.
    """

    is_batch_dependent = False

    def __init__(self, name: str, resolution: int | None = None) -> None:
        """Load `hf:NAME`, `hf:NAME@REVISION` or `hf:DIR`; BackboneError if it cannot be used."""
        self.name, self.device = name, "cpu"
        folder = model_folder(name)
        transformers = _transformers()
        with _quiet(transformers):
            self._processor = _processor(transformers, folder)
            self._steps = steps_of(self._processor.to_dict())
            check_side(resolution, self._steps.side)
            self._model, is_pooler_there = _model(transformers, folder)
        self._is_fast = agrees(self._steps, self._processor)
        self._lock = threading.Lock()
        self._hashes = _hashes(folder)
        self.resolution = self._steps.side
        self.batch_size = max(1, min(64, BATCH_PIXELS // self.resolution**2))
        self._pooling, self.width = self._look(is_pooler_there)

    def use_device(self, device: str) -> None:
        """Compute on a device from now on; BackboneError if it was named and cannot be used."""
        import torch

        if device not in DEVICES:
            raise unknown_name("device of a model of the hub", device, DEVICES)
        there = {
            "cuda": torch.cuda.is_available(),
            "mps": torch.backends.mps.is_available(),
            "cpu": True,
        }
        chosen = next(name for name in there if there[name]) if device == "auto" else device
        if not there[chosen]:
            raise BackboneError(
                f"The device {device} cannot be used: torch finds none on this machine. "
                "Check the driver and torch's build, or leave --device out."
            )
        self.device = chosen
        self._model.to(chosen)
        if chosen != "cpu":
            self.batch_size *= ON_A_CARD

    @cached_property
    def fingerprint(self) -> str:
        """A hex digest of weights, settings, way of pooling, libraries and device."""
        import torch

        words = {**self.describe(), "name": None, "torch": torch.__version__, **self._hashes}
        return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """What a record says about the backbone."""
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
        size = self.batch_size
        parts = [self._run(batch[start : start + size]) for start in range(0, len(batch), size)]
        features = np.concatenate(parts)
        if not np.isfinite(features).all():
            raise BackboneError(f"{self.name} gave features that are not finite.")
        return features

    def _run(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        n_images = len(batch)
        if n_images < self.batch_size:
            filling = ((0, self.batch_size - n_images), (0, 0), (0, 0), (0, 0))
            batch = np.pad(batch, filling, mode="edge")
        output = self._output(batch)
        return np.asarray(_vector(output, self._pooling), np.float32)[:n_images]

    def _output(self, batch: NDArray[np.uint8]) -> Any:
        import torch

        is_fast = self._is_fast
        pixels = self._steps.apply(batch) if is_fast else processed(self._processor, batch)
        with self._lock, torch.inference_mode():
            return self._model(pixel_values=torch.from_numpy(pixels).to(self.device))

    def _look(self, is_pooler_there: bool) -> tuple[str, int]:
        """How the model's output becomes a vector, and its length, by showing it one image."""
        image = np.zeros((1, self.resolution, self.resolution, 3), np.uint8)
        try:
            output = self._output(image)
        except Exception as error:
            raise BackboneError(f"{self.name} cannot embed an image: {reason(error)}.") from error
        has_class_token = any(name.endswith("cls_token") for name, _ in self._all_parameters())
        for pooling in _ways(output, is_pooler_there, has_class_token):
            vector = _vector(output, pooling)
            if vector.ndim == 2 and vector.shape[1] > 0:
                return pooling, int(vector.shape[1])
        raise BackboneError(
            f"{self.name} gives no vector for an image: its output has "
            f"{', '.join(output.keys()) or 'nothing'}. Choose a model of images."
        )

    def _all_parameters(self) -> Iterator[tuple[str, Any]]:
        yield from self._model.named_parameters()


def _ways(output: Any, is_pooler_there: bool, has_class_token: bool) -> list[str]:
    """Ways to make a vector of an output, the best first."""
    ways = []
    if getattr(output, "image_embeds", None) is not None:
        ways.append("image embedding")
    if getattr(output, "pooler_output", None) is not None and is_pooler_there:
        ways.append("pooled output")
    if getattr(output, "last_hidden_state", None) is not None:
        ways.append("class token" if has_class_token else "mean of patches")
    return ways


def _vector(output: Any, pooling: str) -> Any:
    if pooling == "image embedding":
        return output.image_embeds.float().cpu().numpy()
    if pooling == "pooled output":
        return output.pooler_output.flatten(1).float().cpu().numpy()
    states = output.last_hidden_state
    if pooling == "class token":
        return states[:, 0].float().cpu().numpy()
    axes = (2, 3) if states.ndim == 4 else 1
    return states.float().mean(dim=axes).cpu().numpy()


def _transformers() -> Any:
    try:
        import torch  # noqa: F401 - transformers alone loads without it, and fails later
        import transformers
    except ImportError:
        raise MissingExtraError("Models of the hub", "hf") from None
    return transformers


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Without the bars and remarks of transformers while a model is loaded."""
    log = transformers.utils.logging
    level, has_bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if has_bars:
            log.enable_progress_bar()


def _processor(transformers: Any, folder: Path) -> Any:
    if not (folder / SETTINGS).is_file():
        raise BackboneError(
            f"{folder} has no {SETTINGS}, which says how images are prepared for the model. "
            "Save it with processor.save_pretrained(DIR)."
        )
    try:
        return transformers.AutoImageProcessor.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:
        raise BackboneError(
            f"The image processor in {folder} cannot be used without torchvision, or is broken: "
            f"{reason(error)}."
        ) from error


def _model(transformers: Any, folder: Path) -> tuple[Any, bool]:
    """The model, and whether the weights of its pooler were among the files."""
    options = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = transformers.AutoConfig.from_pretrained(folder, **options)
        family = config.model_type
        tower = getattr(transformers, VISION_TOWERS.get(family, "AutoModel"))
        if family in VISION_TOWERS:
            projection = getattr(config, "projection_dim", None)
            config = config.vision_config
            config.projection_dim = projection
            del options["trust_remote_code"]
        model, info = tower.from_pretrained(
            folder, config=config, use_safetensors=True, output_loading_info=True, **options
        )
    except Exception as error:
        raise BackboneError(
            f"transformers cannot load the model in {folder}: {reason(error)}."
        ) from error
    missing = sorted(info["missing_keys"])
    others = [key for key in missing if "pooler" not in key]
    if others or info["mismatched_keys"]:
        raise BackboneError(
            f"The weights in {folder} are not those of a {family} model, or not all of them: "
            f"{len(others)} are missing, such as {others[0] if others else 'none'}. Fetch it again."
        )
    return model.eval(), not missing


def _hashes(folder: Path) -> dict[str, str]:
    """Digests of all that decides the features: weights, configuration, settings."""
    weights = hashlib.sha256()
    for path in sorted(folder.glob(WEIGHTS)):
        with path.open("rb") as file:
            weights.update(hashlib.file_digest(file, "sha256").digest())
    return {"weights": weights.hexdigest()} | {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in (CONFIG, SETTINGS)
    }
