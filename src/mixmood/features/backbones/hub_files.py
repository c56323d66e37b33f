"""Where are the files of a model of the hub, and what do they hold? Nothing is unpickled or run."""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mixmood.core.errors import BackboneError, OptionError, errors_as, needing
from mixmood.core.files import expanded

PREFIX = "hf:"
CONFIG, SETTINGS = "config.json", "preprocessor_config.json"
INDEX = "model.safetensors.index.json"
WEIGHTS = "*.safetensors"
PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
TIMEOUT_S = 10
_NAME = re.compile(r"([\w.-]+(?:/[\w.-]+)?)(?:@([\w./-]+))?")


def is_hub_model(name: str) -> bool:
    """Whether a backbone name is that of a model of the hub, or of one in a folder (hf:DIR)."""
    return name.startswith(PREFIX) and not name.startswith("hf://")


def model_folder(name: str) -> Path:
    """The folder with the files of `hf:DIR`, `hf:NAME` or `hf:NAME@REVISION`.

    A folder of this name is taken first, then a copy that the hub's package keeps on this machine,
    then the hub. Only JSON and safetensors are fetched: neither code nor pickled weights.
    """
    text = name.removeprefix(PREFIX)
    folder = expanded(text)
    if folder.is_dir():
        check_folder(folder)
        return folder
    parts = _NAME.fullmatch(text)
    if parts is None:
        raise OptionError(
            f"A model of the hub is written hf:NAME, hf:NAME@REVISION or hf:DIR; got '{name}'. "
            "There is no folder of this name."
        )
    with needing("Models of the hub", "hf"):
        import huggingface_hub  # noqa: F401 - other errors of a copy or a download are caught
    kept = None
    with suppress(Exception):  # which one it is differs between versions of the package
        kept = _snapshot(parts[1], parts[2], is_local=True)
        check_folder(kept)
        if (kept / SETTINGS).is_file():  # a download may have been interrupted
            return kept
    try:
        folder = _snapshot(parts[1], parts[2], is_local=False)
    except Exception as error:
        # The network, the hub and the disk raise different errors.
        if kept is not None:
            check_folder(kept)  # its error says what is missing in the copy
        raise BackboneError(
            f"The model {parts[1]} is not on this machine and cannot be fetched from the hub "
            f"({type(error).__name__}). Connect once, or copy its folder here and give hf:DIR."
        ) from error
    check_folder(folder)
    return folder


def check_folder(folder: Path) -> None:
    """Refuse a folder without a configuration, or without all weights as safetensors."""
    if not (folder / CONFIG).is_file():
        raise BackboneError(
            f"{folder} has no {CONFIG}, so it is not a model in the format of Hugging Face. "
            "Save it with model.save_pretrained(DIR)."
        )
    config = _json(folder / CONFIG)
    if "auto_map" in config:
        raise BackboneError(
            f"The model in {folder} brings its own code, which is never run. Choose a model "
            "whose family is part of transformers."
        )
    if next(folder.glob(WEIGHTS), None) is None:
        is_pickled = any(next(folder.glob(pattern), None) for pattern in PICKLED)
        why = "only pickled weights, which are never loaded" if is_pickled else "no weights"
        raise BackboneError(
            f"{folder} has {why}. Save them as safetensors: "
            "model.save_pretrained(DIR, safe_serialization=True)."
        )
    if (folder / INDEX).is_file():
        parts = _json(folder / INDEX).get("weight_map")
        wanted = set(map(str, parts.values())) if isinstance(parts, dict) else set()
        missing = sorted(part for part in wanted if not (folder / part).is_file())
        if missing:
            raise BackboneError(
                f"{folder} lacks {len(missing)} of {len(wanted)} files of weights, such as "
                f"{missing[0]}: the download is not complete. Fetch it again."
            )


def _json(path: Path) -> dict[str, Any]:
    with errors_as(BackboneError, f"Cannot read {path}", "Fetch or save the model again."):
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise ValueError("it holds no settings by name")
        return content


def _snapshot(name: str, revision: str | None, is_local: bool) -> Path:
    import huggingface_hub

    return Path(
        huggingface_hub.snapshot_download(
            name,
            revision=revision,
            allow_patterns=["*.json", WEIGHTS],
            local_files_only=is_local,
            etag_timeout=TIMEOUT_S,
        )
    )


# Families with a tower for texts too, and the class of the tower for images.
VISION_TOWERS = {"clip": "CLIPVisionModelWithProjection", "siglip": "SiglipVisionModel"}


def import_transformers() -> Any:
    """The library; MissingExtraError without it or without torch."""
    with needing("Models of the hub", "hf"):
        import torch  # noqa: F401 - transformers alone loads without it, and fails later
        import transformers
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
    start = f"The image processor in {folder} cannot be used"
    with errors_as(BackboneError, start, "Save it again with processor.save_pretrained(DIR)."):
        try:
            return transformers.AutoImageProcessor.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
        except ImportError as error:
            family = json.loads((folder / CONFIG).read_bytes()).get("model_type", "These")
            raise BackboneError(
                f"{family} models cannot be used: transformers has their image processor for "
                f"torchvision only, which is not installed ({folder}). Choose a model of another "
                "family, such as DINOv2, CLIP, ViT or ConvNeXt."
            ) from error


def load_model(transformers: Any, folder: Path) -> tuple[Any, bool]:
    """The model, and whether the weights of its pooler were among the files."""
    options = {"local_files_only": True, "trust_remote_code": False}
    start = f"transformers cannot load the model in {folder}"
    with errors_as(BackboneError, start, "Copy or fetch it again."):
        config = transformers.AutoConfig.from_pretrained(folder, **options)
        family = config.model_type
        tower = getattr(transformers, VISION_TOWERS.get(family, "AutoModel"))
        if family in VISION_TOWERS:
            projection, config = getattr(config, "projection_dim", None), config.vision_config
            config.projection_dim = projection
            del options["trust_remote_code"]
        model, info = tower.from_pretrained(
            folder, config=config, use_safetensors=True, output_loading_info=True, **options
        )
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
    texts = {name: hashlib.sha256((folder / name).read_bytes()) for name in (CONFIG, SETTINGS)}
    return {name: state.hexdigest() for name, state in {"weights": weights, **texts}.items()}
