"""Opens a data set of the Hugging Face hub, or one that their package saved to disk."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mixmood.core.errors import InputError, MissingExtraError, OptionError, reason
from mixmood.data.pools.objects import ObjectSource, from_hugging_face

PREFIX = "hf://"
TIMEOUT_S = 10

_VALUE = r"(?:[^@:\[]|\[[^\]]*\])+"
_PATTERN = re.compile(rf"{PREFIX}([^@:]+)((?:[@:]{_VALUE})*)")
_OPTION = re.compile(rf"([@:])({_VALUE})")


def open_hub(text: str, name: str | None) -> ObjectSource:
    """The pool of a text such as `hf://uoft-cs/cifar10@plain_text:test`.

    The name of the data set, or the path of a folder written by `save_to_disk`, may be followed by
    `:` and a split, such as `test` or `train[:1000]`, and by `@` and a configuration, in any order.
    The default split is `train`. The package `datasets` fetches files that are not in its cache.
    """
    parts = _PATTERN.fullmatch(text)
    given = _OPTION.findall(parts[2]) if parts else []
    options = dict(given)
    if parts is None or len(options) != len(given):
        raise OptionError(
            f"A data set of the hub is written hf://NAME, hf://NAME:SPLIT or "
            f"hf://NAME@CONFIG:SPLIT, got '{text}'."
        )
    where = parts[1]
    dataset = _load(where, options.get("@"), options.get(":", "train"))
    return from_hugging_face(dataset, name or where.rstrip("/").rpartition("/")[2])


def _load(where: str, config: str | None, split: str) -> Any:
    try:
        import datasets
    except ImportError:
        raise MissingExtraError(f"Reading {PREFIX}", "hub") from None
    try:
        if Path(where).is_dir() and _is_saved(Path(where)):
            loaded = datasets.load_from_disk(where)
            return loaded[split] if isinstance(loaded, dict) else loaded
        with _offline_if_unreachable(datasets, is_remote=not Path(where).is_dir()):
            return datasets.load_dataset(where, config, split=split)
    except Exception as error:
        # The network, the hub and the files each have errors of their own.
        raise InputError(
            f"Cannot open the data set {where}, configuration {config or 'default'}, "
            f"split {split}: {type(error).__name__}: {reason(error)}."
        ) from error


@contextmanager
def _offline_if_unreachable(datasets: Any, is_remote: bool) -> Iterator[None]:
    """Use only the local cache of the hub's packages if the hub does not answer.

    Without this they try six times in half a minute, and print two lines on stderr each time.
    """
    import huggingface_hub

    places: tuple[Any, ...] = (huggingface_hub.constants, datasets.config)
    before = [place.HF_HUB_OFFLINE for place in places]
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        if is_remote and not _answers(huggingface_hub):
            for place in places:
                place.HF_HUB_OFFLINE = True
        yield
    finally:
        logger.setLevel(level)
        for place, was in zip(places, before, strict=True):
            place.HF_HUB_OFFLINE = was


def _answers(hub: Any) -> bool:
    try:
        hub.utils.get_session().head(hub.constants.ENDPOINT, timeout=TIMEOUT_S)
    except Exception:
        # Versions of the package use different HTTP libraries, each with its own errors.
        return False
    return True


def _is_saved(folder: Path) -> bool:
    return any((folder / file).is_file() for file in ("state.json", "dataset_dict.json"))
