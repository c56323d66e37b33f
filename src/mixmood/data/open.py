"""Whatever a user calls a pool -> the pool."""

import copy
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.errors import InputError
from mixmood.data.arrays import array_pool
from mixmood.data.bounded import reason
from mixmood.data.folder import FolderSource
from mixmood.data.idx import open_idx
from mixmood.data.manifest import ManifestSource
from mixmood.data.names import is_image_name
from mixmood.data.noise import PREFIX, open_noise
from mixmood.data.npy import open_npy, open_npz
from mixmood.data.objects import from_dataset, from_hugging_face, from_list, is_hugging_face
from mixmood.data.source import FeatureSource, ImageSource, Pool
from mixmood.data.tars import TarSource
from mixmood.data.zips import ZipSource

OPENERS: dict[str, Callable[[str | Path, str], Pool]] = {
    ".zip": ZipSource,
    ".tar": TarSource,
    ".tar.gz": TarSource,
    ".tgz": TarSource,
    ".npy": open_npy,
    ".npz": open_npz,
    ".txt": ManifestSource,
    ".lst": ManifestSource,
    ".csv": ManifestSource,
    ".tsv": ManifestSource,
    "-ubyte": open_idx,
    "-ubyte.gz": open_idx,
    ".idx": open_idx,
    ".idx.gz": open_idx,
}
"""Who opens a file, by the end of its name."""

_OPENERS_BY_START: dict[bytes, Callable[[str | Path, str], Pool]] = {
    b"PK\3\4": ZipSource,
    b"\x93NUMPY": open_npy,
    b"\0\0\x08": open_idx,
}


def open_pool(what: Any, name: str | None = None, *, seed: int = 0) -> Pool:
    """The pool that `what` stands for, opened but not read.

    Args:
        what: A path to a folder, archive (.zip, .tar, .tar.gz), array file (.npy, .npz), IDX file
            or list of paths (.txt, .csv, .tsv); `noise:gaussian` or `noise:salt-and-pepper`, with
            options as in `noise:gaussian?count=500&size=64`; a NumPy array of images or features;
            a list of images; a torch-style or Hugging Face data set; or a pool.
        name: What to call it; otherwise the name of the file or folder, or of the kind.
        seed: Decides the images of a noise pool, and nothing else.
    """
    if isinstance(what, ImageSource | FeatureSource):
        return _renamed(what, name)
    if isinstance(what, str) and what.startswith(PREFIX):
        return open_noise(what, name, seed)
    if isinstance(what, str | os.PathLike):
        return _open_path(Path(what), name)
    return _open_object(what, name)


def _open_object(what: Any, name: str | None) -> Pool:
    if isinstance(what, np.ndarray):
        return array_pool(what, name or "array")
    if isinstance(what, list | tuple):
        return from_list(what, name or "images")
    if is_hugging_face(what):
        return from_hugging_face(what, name or type(what).__name__)
    if hasattr(what, "__len__") and hasattr(what, "__getitem__") and not isinstance(what, dict):
        return from_dataset(what, name or type(what).__name__)
    raise InputError(
        "A pool must be a path, an array, a list of images or a data set with a length and items; "
        f"got {type(what).__name__}."
    )


def _open_path(path: Path, name: str | None) -> Pool:
    path = path.expanduser()
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise InputError(
            f"Cannot open the pool {path}: {reason(error)}. Check the path."
        ) from error
    if stat.S_ISDIR(mode):
        return FolderSource(path, name or path.resolve().name)
    if not stat.S_ISREG(mode):
        raise InputError(f"Cannot open the pool {path}: it is neither a file nor a folder.")
    suffix = next((end for end in _LONGEST_FIRST if path.name.lower().endswith(end)), None)
    opener = OPENERS[suffix] if suffix else _opener_by_content(path)
    return opener(path, name or _stem(path, suffix))


_LONGEST_FIRST = sorted(OPENERS, key=len, reverse=True)


def _opener_by_content(path: Path) -> Callable[[str | Path, str], Pool]:
    if is_image_name(os.fsencode(path.name)):
        raise InputError(f"{path} is one image. Give the folder that it is in, or a list of paths.")
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise InputError(f"Cannot open the pool {path}: {reason(error)}.") from error
    for magic, opener in _OPENERS_BY_START.items():
        if start.startswith(magic):
            return opener
    raise InputError(
        f"{path} is no kind of pool that is known. Give a folder, or a file that ends in "
        f"{', '.join(OPENERS)}."
    )


def _stem(path: Path, suffix: str | None) -> str:
    """The file's name without the end that tells its kind: `crawl` for `crawl.tar.gz`."""
    if suffix is None or len(suffix) == len(path.name):
        return path.name
    return re.sub(r"[-.]idx\d$", "", path.name[: -len(suffix)])


def _renamed(pool: Pool, name: str | None) -> Pool:
    if name is None or name == pool.name:
        return pool
    pool = copy.copy(pool)
    pool.name = name
    return pool
