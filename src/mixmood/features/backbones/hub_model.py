"""How does a model of the Hugging Face hub turn images into features?"""

import hashlib
import json
import threading
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import BackboneError, OptionError, reason
from mixmood.core.listener import Listener
from mixmood.core.text import check_name
from mixmood.features.backbones import hub_files
from mixmood.features.backbones.backbone import PREPROCESSING, Backbone
from mixmood.features.backbones.onnx_network import check_batch

LARGEST_SIDE = 4096
TOLERANCE = 1e-3


class PixelSteps(NamedTuple):
    """Centre crop, scale and standardisation of square images."""

    side: int
    crop: int
    factor: float
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def apply(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """A batch of uint8, (n, side, side, 3), as floats of shape (n, 3, crop, crop)."""
        start = (self.side - self.crop) // 2
        part = batch[:, start : start + self.crop, start : start + self.crop]
        # Scaling and standardisation in one multiplication and one addition.
        mean, std = np.array(self.mean, np.float32), np.array(self.std, np.float32)
        scale, shift = np.float32(self.factor) / std, -mean / std
        pixels = part.transpose(0, 3, 1, 2).astype(np.float32)
        pixels *= scale[:, None, None]
        pixels += shift[:, None, None]
        return pixels


def steps_of(settings: dict[str, Any]) -> PixelSteps:
    """The steps that the settings of a processor ask for; BackboneError if they give no size."""
    size = settings.get("size") or {}
    size = {"shortest_edge": size} if isinstance(size, int) else dict(size)
    sides = [int(size[key]) for key in ("shortest_edge", "height", "width") if size.get(key)]
    if not settings.get("do_resize", True) or not sides:
        raise BackboneError(
            "The processor of the model does not say the size of its images (do_resize, size). Set "
            "it in its preprocessor_config.json."
        )
    side = crop = max(sides)
    percent = settings.get("crop_pct")
    if percent and side < 384:
        # ConvNeXt: the image is resized to a larger side, then cropped.
        side = int(side / float(percent))
    if settings.get("do_center_crop"):
        wanted = settings.get("crop_size") or crop
        crop = int(wanted if isinstance(wanted, int) else max(wanted.values()))
    if not 0 < crop <= side <= LARGEST_SIDE:
        raise BackboneError(
            f"The processor of the model crops {crop} pixels out of {side}; both must be 1 to "
            f"{LARGEST_SIDE}, and the second no less than the first. Set them in its "
            "preprocessor_config.json."
        )
    factor = float(settings.get("rescale_factor", 1 / 255)) if settings.get("do_rescale") else 1.0
    scale = settings if settings.get("do_normalize") else {}
    mean, std = scale.get("image_mean") or (0.0,) * 3, scale.get("image_std") or (1.0,) * 3
    return PixelSteps(side, crop, factor, tuple(mean), tuple(std))


def agrees(steps: PixelSteps, processor: Any) -> bool:
    """Whether the steps and the processor itself give the same for a random picture."""
    picture = random_pictures(steps.side)
    found, own = processed(processor, picture), steps.apply(picture)
    return own.shape == found.shape and bool(np.abs(own - found).max() < TOLERANCE)


def random_pictures(side: int) -> NDArray[np.uint8]:
    """A batch of one random picture."""
    return np.random.default_rng(0).integers(0, 256, (1, side, side, 3), dtype=np.uint8)


def processed(processor: Any, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The batch as the processor itself prepares it."""
    done = processor(images=list(batch), return_tensors="np", input_data_format="channels_last")
    return np.asarray(done["pixel_values"], dtype=np.float32)


EMBEDDING, POOLED = "image embedding", "pooled output"
CLASS_TOKEN, PATCHES = "class token", "mean of patches"


def possible_poolings(output: Any, has_pooler: bool, has_class_token: bool) -> list[str]:
    """The ways to turn an output into a vector, the best first."""
    tokens = CLASS_TOKEN if has_class_token else PATCHES
    ways = {"image_embeds": EMBEDDING, "pooler_output": POOLED, "last_hidden_state": tokens}
    found = [way for name, way in ways.items() if getattr(output, name, None) is not None]
    return [way for way in found if has_pooler or way != POOLED]


def vector_of(output: Any, pooling: str) -> NDArray[np.float32]:
    """The features of a batch by one of these poolings, shape (n, d)."""
    if pooling == EMBEDDING:
        found = output.image_embeds
    elif pooling == POOLED:
        found = output.pooler_output.flatten(1)
    elif pooling == CLASS_TOKEN:
        found = output.last_hidden_state[:, 0]
    else:
        states = output.last_hidden_state
        found = states.float().mean(dim=(2, 3) if states.ndim == 4 else 1)
    return np.asarray(found.float().cpu().numpy(), np.float32)


DEVICES = ("auto", "cpu", "cuda", "mps")
BATCH_PIXELS = 16 * 224 * 224  # on a processor; activations stay below about a gigabyte
TIMES_ON_A_CARD = 4  # a batch on a graphics card is so many times larger


class HubBackbone(Backbone):
    """An image model, from uint8 images (n, side, side, 3) to float32 features.

    Crop, scale and standardisation of the squares are those of the model's own processor. A short
    batch is filled with copies, so that features do not depend on the number of images.
    """

    def __init__(self, name: str, resolution: int | None = None) -> None:
        """Load `hf:NAME`, `hf:NAME@REVISION` or `hf:DIR`; BackboneError if it cannot be used."""
        self.name = name
        folder = hub_files.model_folder(name)
        transformers = hub_files.import_transformers()
        with hub_files.quiet(transformers):
            self._processor = hub_files.load_processor(transformers, folder)
            self._steps = steps_of(self._processor.to_dict())
            self.resolution = self._steps.side
            if resolution not in (None, self.resolution):
                raise OptionError(
                    f"This model takes images of {self.resolution} pixels a side, by the settings "
                    f"of its processor; got {resolution}. Leave the resolution out."
                )
            self._model, has_pooler = hub_files.load_model(transformers, folder)
        self._takes_texts = False
        self._is_fast = agrees(self._steps, self._processor)
        self._lock = threading.Lock()
        self._hashes = hub_files.file_hashes(folder)
        self.batch_size = _images_at_once(self.resolution, self.device)
        self._pooling, self.width = self._pooling_and_width(has_pooler)

    def use_device(self, device: str, listener: Listener | None = None) -> None:
        """Compute on this device from now on; BackboneError if it cannot be used."""
        import torch

        check_name("device of a model of the hub", device, DEVICES)
        is_available = {
            "cuda": torch.cuda.is_available(),
            "mps": torch.backends.mps.is_available(),
            "cpu": True,
        }
        best = next(name for name in is_available if is_available[name])
        chosen = best if device == "auto" else device
        if not is_available[chosen]:
            raise BackboneError(
                f"The device {device} cannot be used: torch finds none on this machine. "
                "Check the driver and torch's build, or leave --device out."
            )
        self.device = chosen
        self._model.to(chosen)
        self.batch_size = _images_at_once(self.resolution, chosen)

    @cached_property
    def fingerprint(self) -> str:  # type: ignore[override]
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
        return self._finite(self._in_parts(batch))

    def _in_parts(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Features in batches; where memory does not suffice, the batch size is halved for good."""
        from torch import OutOfMemoryError

        size = self.batch_size
        try:
            parts = [self._run(batch[start : start + size]) for start in range(0, len(batch), size)]
        except RuntimeError as error:
            # Torch has an error class for the memory of a card only.
            if "allocate memory" not in str(error) and not isinstance(error, OutOfMemoryError):
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
            if not self._takes_texts:
                return self._model(pixel_values=given)
            found = self._model.get_image_features(pixel_values=given)
            # A tensor, or an output that holds it as the pooled one: versions differ.
            vector = getattr(found, "pooler_output", found)
            return SimpleNamespace(image_embeds=vector, keys=lambda: ["image_embeds"])

    def _pooling_and_width(self, has_pooler: bool) -> tuple[str, int]:
        """How the output becomes a vector, and the length of this, from a trial image."""
        output = self._first_output()
        names = [name for name, _ in self._model.named_parameters()]
        has_class_token = any(name.endswith("cls_token") for name in names)
        for pooling in possible_poolings(output, has_pooler, has_class_token):
            vector = vector_of(output, pooling)
            if vector.ndim == 2 and vector.shape[1] > 0:
                again = vector_of(self._first_output(), pooling)
                # Such as ViT-MAE, which masks random parts of an image.
                if not np.allclose(self._finite(vector), again, atol=TOLERANCE, rtol=TOLERANCE):
                    raise BackboneError(
                        f"{self.name} gives different features each time for the same image: the "
                        f"family {self._model.config.model_type} masks parts of it at random. "
                        "Choose a model of another family."
                    )
                return pooling, int(vector.shape[1])
        raise BackboneError(
            f"{self.name} gives no vector for an image: its output has "
            f"{', '.join(output.keys()) or 'nothing'}. Choose a model of images."
        )

    def _first_output(self) -> Any:
        image = random_pictures(self.resolution)
        try:
            return self._output(image)
        except Exception as error:
            if not self._takes_texts and hasattr(self._model, "get_image_features"):
                self._takes_texts = True
                return self._first_output()
            raise BackboneError(
                f"{self.name} cannot embed an image: {reason(error)}. Choose a model of images."
            ) from error

    def _finite(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        if not np.isfinite(features).all():
            raise BackboneError(
                f"{self.name} gave features that are not finite. Check its weights, and the mean "
                "and std in its preprocessor_config.json."
            )
        return features


def _images_at_once(side: int, device: str) -> int:
    n_images = max(1, min(64, BATCH_PIXELS // side**2))
    return n_images if device == "cpu" else TIMES_ON_A_CARD * n_images
