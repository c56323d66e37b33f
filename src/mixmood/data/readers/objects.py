"""Pools given in Python: lists of images or paths, tables, torch-style and hub data sets."""

import hashlib
import logging
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mixmood.core.errors import InputError, OptionError, UnreadableImageError, errors_as, needing
from mixmood.core.files import expanded, read_image_file
from mixmood.data.images.decode import Raw
from mixmood.data.images.labels import LABEL_COLUMNS, PATH_COLUMNS, labels_from_values
from mixmood.data.images.pool import ImageSource, Labels, Pool, check_label_count, evenly_spaced
from mixmood.data.readers.array import array_pool
from mixmood.data.readers.files import N_CHECKED, FileSource

_FINGERPRINT_IMAGES = 32


def open_object(what: Any, name: str | None) -> Pool:
    """The pool of an object of Python; InputError for another object than these.

    A NumPy array or tensor of images or features, a list of images or of their paths, or one of
    these and its classes, (X, y); a Pillow image; a table of pandas with a column of paths and
    perhaps of classes; a torch-style or Hugging Face data set; the result of `mixmood.filter`.
    """
    kind = type(what).__name__
    if hasattr(what, "as_pool"):
        pool: Pool = what.as_pool()
        return pool
    if isinstance(what, Image.Image):
        return from_list([what], name or "image")
    if hasattr(what, "iloc") and (at_path := _column_of(what, PATH_COLUMNS)) is not None:
        files = FileList(what[at_path], name or "table", None, what)
        if (label := _column_of(what, LABEL_COLUMNS)) is not None:
            # As in a list, a table with a blank label has no classes.
            if n_missing := int(what[label].isna().sum()):
                files.labels, files.why_unlabelled = None, _unfit(label, what[label], n_missing)
            else:
                files.labels = labels_from_values(np.asarray(what[label]), files.name)
        return files
    if _is_pair(what):
        pool = open_object(what[0], name)
        pool.labels = labels_from_values(np.asarray(what[1]), pool.name)
        check_label_count(pool.labels, len(pool), pool.name)
        return pool
    if (rows := as_array(what)) is not None:
        name, values = name or "array", getattr(what, "labels", None)  # those of mixmood.embed
        labels = None if values is None else labels_from_values(np.asarray(values), name)
        return array_pool(rows, name, labels)
    if isinstance(what, list | tuple):
        return _from_paths(what, name or "images") or from_list(what, name or "images")
    # The package of Hugging Face is not imported.
    if hasattr(what, "column_names") and (hasattr(what, "features") or isinstance(what, dict)):
        return _from_hugging_face(what, name or kind)
    if hasattr(what, "__len__") and hasattr(what, "__getitem__") and not isinstance(what, dict):
        return from_dataset(what, name or kind)
    raise InputError(
        "A pool must be a path, an array, an image, a list of images or paths, a table with a "
        f"column of paths, or a data set with a length and items; got {kind}."
    )


def as_array(what: Any) -> Any:
    """An array, or a table of pandas or a tensor with two axes as one; None for anything else."""
    if isinstance(what, np.ndarray):
        return what
    if not hasattr(what, "__array__") or len(getattr(what, "shape", ())) != 2:
        return None
    # A tensor on a graphics card, or with a gradient, cannot be read.
    with errors_as(InputError, "Features cannot be read as an array"):
        return np.asarray(what)


def _is_pair(what: Any) -> bool:
    """Whether it is a pair (X, y). The classes have one axis, which no image has."""
    if isinstance(what, list | tuple) and len(what) == 2:
        is_list = isinstance(what, tuple) and isinstance(what[0], list)
        with suppress(ValueError):  # Items of several shapes are no classes.
            has_classes = np.ndim(what[1]) == 1 or getattr(what[0], "ndim", 0) == 4
            return has_classes and (is_list or hasattr(what[0], "__array__"))
    return False


def _unfit(column: Any, values: Any, n_missing: int) -> str:
    """Why a column gives no classes, in a sentence."""
    return (
        f"Its column '{column}' holds values of the type {values.dtype}, {n_missing} of them "
        "missing: every image needs a whole number or a text."
    )


class ObjectSource(ImageSource):
    """Images that a Python object returns by index.

    An item is a Pillow image, an array, a tensor or the bytes of a file, or a tuple that starts
    with one of them.
    """

    def __init__(
        self, get: Callable[[int], Any], count: int, name: str, labels: Labels | None = None
    ) -> None:
        """Refuse an object without items, and one whose first item is not an image."""
        if count < 1:
            raise InputError(f"{name}: there are no images in it.")
        check_label_count(labels, count, name)
        self.name = name
        self._get, self._count, self.labels = get, count, labels
        # Pillow images that are not loaded yet, and many data sets, are not safe for threads.
        self._lock = threading.Lock()
        # Only a wrong type is an error here: an unreadable item is counted when it is read.
        with suppress(UnreadableImageError):
            self.fetch(0)

    def __len__(self) -> int:
        """How many items the object has."""
        return self._count

    def fetch(self, index: int) -> Raw:
        """The image as the object returns it; any error of the object makes it unreadable."""
        where = self.locate(index)
        start = f"{where}: cannot be read"
        with self._lock, errors_as(UnreadableImageError, start, names_class=True):
            return _as_raw(self._get(index), where)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the count and of 32 evenly spaced images, because items have no names."""
        hashed = hashlib.sha256(f"objects {self._count}".encode())
        for index in evenly_spaced(self._count, _FINGERPRINT_IMAGES):
            with suppress(UnreadableImageError):
                raw = self.fetch(index)
                hashed.update(raw if isinstance(raw, bytes) else np.asarray(raw).tobytes())
        return hashed.hexdigest()


def from_list(items: Sequence[Any], name: str) -> ObjectSource:
    """A pool of a list of images, or of pairs of image and label."""
    labels = None
    if items and all(isinstance(item, tuple) and len(item) == 2 for item in items):
        labels = labels_from_values(np.array([item[1] for item in items]), name)
    return ObjectSource(items.__getitem__, len(items), name, labels)


def from_dataset(dataset: Any, name: str) -> ObjectSource:
    """A pool of a torch-style data set: `len(dataset)` and `dataset[i]`, an image or a tuple.

    Labels come from its attributes `targets` and `classes`, if it has them: for those of the items
    every image would have to be read.
    """
    labels = None
    if (targets := getattr(dataset, "targets", None)) is not None:
        names = getattr(dataset, "classes", None)
        labels = labels_from_values(np.asarray(targets), name, names and tuple(map(str, names)))
    return ObjectSource(dataset.__getitem__, len(dataset), name, labels)


class FileList(FileSource):
    """Image files that are named in Python, in this order; they may be anywhere."""

    def __init__(
        self,
        paths: Iterable[str | Path],
        name: str,
        labels: Labels | None = None,
        table: Any = None,  # the table of pandas that the paths come from
    ) -> None:
        """Take the paths, of the present working directory; refuse none, and names of no files."""
        self.name, self._table = name, table
        if labels is not None:
            self.labels = labels  # else those of folder names
        self._root = os.fsencode(Path.cwd())
        with errors_as(InputError, f"{name}: a path is missing, or no text"):
            self._names = [os.fsencode(expanded(path)) for path in paths]
        check_label_count(labels, len(self), name)
        n_first = min(len(self), N_CHECKED)
        if not n_first:
            raise InputError(f"{name}: there are no paths in it.")
        if not any(os.path.isfile(self._absolute(index)) for index in range(n_first)):  # noqa: PTH113
            raise InputError(
                f"{name}: none of its first {n_first} paths is a file, such as "
                f"'{self.locate(0)[:60]}'. A folder is given by itself, not in a list of images."
            )

    def column(self, name: str) -> list[str] | None:
        """The values of a column of the table; None without it."""
        found = _column_of(self._table, (name.strip().lower(),))
        return None if found is None else [str(value) for value in self._table[found]]


def _from_paths(items: Sequence[Any], name: str) -> FileList | None:
    """A pool of paths, or of pairs (path, class); else None."""
    are_pairs = items and all(isinstance(item, tuple) and len(item) == 2 for item in items)
    paths, classes = zip(*items, strict=True) if are_pairs else (items, None)
    if not paths or not all(isinstance(path, str | Path) for path in paths):
        return None
    labels = None if classes is None else labels_from_values(np.asarray(classes), name)
    return FileList(paths, name, labels)


def _column_of(table: Any, usual: Sequence[str]) -> Any:
    """The column with the first of these names; None if there is none."""
    known = {str(one).strip().lower(): one for one in getattr(table, "columns", ())}
    return next((known[name] for name in usual if name in known), None)


def _from_hugging_face(dataset: Any, name: str) -> ObjectSource:
    """A pool of a Hugging Face data set: its image column, and its class labels, if it has any."""
    if not hasattr(dataset, "__len__") or isinstance(dataset.column_names, dict):
        raise InputError(
            f"{name}: a Hugging Face data set must be one split that is not streamed; "
            'choose one, for instance with load_dataset(..., split="train").'
        )
    features = dict(dataset.features or {})
    kinds = {column: type(kind).__name__ for column, kind in features.items()}
    if (image := next((name for name, kind in kinds.items() if kind == "Image"), None)) is None:
        columns = ", ".join(f"{column} ({kind})" for column, kind in kinds.items())
        raise InputError(f"{name}: the data set has no image column; it has: {columns or 'none'}.")
    classes = [column for column, kind in kinds.items() if kind == "ClassLabel"]
    usual = [column for column in LABEL_COLUMNS if kinds.get(column) == "Value"]
    images = dataset
    if hasattr(dataset, "cast_column"):
        # Get the stored files: our decoder has limits on sizes and a single kind of error.
        images = dataset.with_format(None).select_columns([image])
        images = images.cast_column(image, type(features[image])(decode=False))
    pool = ObjectSource(lambda index: images[index][image], len(dataset), name)
    if label := next(iter([*classes, *usual]), None):
        values = np.asarray(dataset[label][:])
        # The hub writes missing labels as -1.
        n_missing = sum(value in (None, "", -1) for value in values.tolist())
        if values.dtype.kind in "iubU" and not n_missing:
            names = tuple(features[label].names) if classes else None
            pool.labels = labels_from_values(values, name, names)
        else:
            pool.why_unlabelled = _unfit(label, values, n_missing)
    return pool


def _as_raw(item: Any, where: str) -> Raw:
    if isinstance(item, tuple) and item:
        item = item[0]
    if isinstance(item, dict) and item.keys() == {"bytes", "path"}:
        item = item["bytes"] or read_image_file(item["path"] or "", f"{where}: {item['path']}")
    if isinstance(item, Image.Image):
        item.load()
    if isinstance(item, bytes | Image.Image):
        return item
    if hasattr(item, "detach"):
        item = item.detach().cpu()
    if hasattr(item, "__array__"):
        pixels: NDArray[Any] = np.asarray(item)
        has_channels = [side in (1, 3, 4) for side in pixels.shape]
        is_first = pixels.ndim == 3 and has_channels[0] and not has_channels[2]
        return np.moveaxis(pixels, 0, 2) if is_first else pixels
    raise InputError(
        f"{where}: an image must be a Pillow image, an array, a tensor or the bytes of a file, "
        f"got {type(item).__name__}."
    )


HUB_PREFIX = "hf://"
TIMEOUT_S = 10

_OPTION = r"([@:])((?:[^@:\[]|\[[^\]]*\])+)"


def open_hub(text: str, name: str | None) -> ObjectSource:
    """The pool of a text such as `hf://uoft-cs/cifar10@plain_text:test`.

    The name of the data set, or the path of a folder written by `save_to_disk`, may be followed by
    `:` and a split, such as `train[:1000]`, by default `train`, and by `@` and a configuration.
    """
    parts = re.fullmatch(rf"{HUB_PREFIX}([^@:]+)((?:{_OPTION})*)", text)
    given = re.findall(_OPTION, parts[2]) if parts else []
    options = dict(given)
    if parts is None or len(options) != len(given):
        raise OptionError(
            f"A data set of the hub is written hf://NAME, hf://NAME:SPLIT or "
            f"hf://NAME@CONFIG:SPLIT, got '{text}'."
        )
    where, config, split = parts[1], options.get("@"), options.get(":", "train")
    name = name or where.rstrip("/").rpartition("/")[2]
    with needing(f"Reading {HUB_PREFIX}", "hub"):
        import datasets
    start = f"Cannot open the data set {where}, configuration {config or 'default'}, split {split}"
    with errors_as(InputError, start, names_class=True):
        if any((Path(where) / file).is_file() for file in ("state.json", "dataset_dict.json")):
            loaded = datasets.load_from_disk(where)
            dataset = loaded[split] if isinstance(loaded, dict) else loaded
        else:
            with _offline_if_unreachable(datasets, is_remote=not Path(where).is_dir()):
                dataset = datasets.load_dataset(where, config, split=split)
    return _from_hugging_face(dataset, name)


@contextmanager
def _offline_if_unreachable(datasets: Any, is_remote: bool) -> Iterator[None]:
    """Use only the local cache if the hub does not answer, instead of trying for half a minute."""
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
    # Versions of the package use different HTTP libraries, each with its own errors.
    with suppress(Exception):
        hub.utils.get_session().head(hub.constants.ENDPOINT, timeout=TIMEOUT_S)
        return True
    return False
