"""The parts of a model in a folder: processor, network, digests. Nothing is unpickled or run."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mixmood.core.errors import BackboneError, MissingExtraError, reason
from mixmood.features.backbones.hub.find import CONFIG, SETTINGS, WEIGHTS

VISION_TOWERS = {"clip": "CLIPVisionModelWithProjection", "siglip": "SiglipVisionModel"}
"""Families with a tower for images and one for texts, and the class of the image tower."""


def import_transformers() -> Any:
    """The library; MissingExtraError without it or without torch."""
    try:
        import torch  # noqa: F401 - transformers alone loads without it, and fails later
        import transformers
    except ImportError:
        raise MissingExtraError("Models of the hub", "hf") from None
    return transformers


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Within, transformers shows no progress bars and no messages but errors."""
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


def load_processor(transformers: Any, folder: Path) -> Any:
    """The model's own image processor, in its Pillow form."""
    if not (folder / SETTINGS).is_file():
        raise BackboneError(
            f"{folder} has no {SETTINGS}, which says how images are prepared for the model. "
            "Save it with processor.save_pretrained(DIR)."
        )
    try:
        return transformers.AutoImageProcessor.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except ImportError as error:
        raise BackboneError(
            f"{_family(folder)} models cannot be used: transformers has their image processor for "
            f"torchvision only, which is not installed ({folder}). Choose a model of another "
            "family, such as DINOv2, CLIP, ViT or ConvNeXt."
        ) from error
    except Exception as error:
        raise BackboneError(
            f"The image processor in {folder} cannot be used: {reason(error)}. Save it again with "
            "processor.save_pretrained(DIR)."
        ) from error


def _family(folder: Path) -> str:
    """The name of the model's family in its configuration."""
    config = json.loads((folder / CONFIG).read_bytes())
    return str(config.get("model_type", "These"))


def load_model(transformers: Any, folder: Path) -> tuple[Any, bool]:
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
            f"transformers cannot load the model in {folder}: {reason(error)}. Copy or fetch it "
            "again."
        ) from error
    missing = sorted(info["missing_keys"])
    others = [key for key in missing if "pooler" not in key]
    if others or info["mismatched_keys"]:
        raise BackboneError(
            f"The weights in {folder} are not those of a {family} model, or not all of them: "
            f"{len(others)} are missing, such as {others[0] if others else 'none'}. Fetch it again."
        )
    return model.eval(), not missing


def file_hashes(folder: Path) -> dict[str, str]:
    """Digests of the files that decide the features: weights, configuration, settings."""
    weights = hashlib.sha256()
    for path in sorted(folder.glob(WEIGHTS)):
        with path.open("rb") as file:
            weights.update(hashlib.file_digest(file, "sha256").digest())
    return {"weights": weights.hexdigest()} | {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in (CONFIG, SETTINGS)
    }
