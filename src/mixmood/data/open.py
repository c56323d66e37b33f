"""Which reader opens a pool, given as a path, a URL, a text such as `noise:gaussian`, an object."""

import copy
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
from PIL import Image

from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError, OptionError, reason
from mixmood.core.files import expanded
from mixmood.core.text import near_path
from mixmood.data.images.names import MIDDLE, NOISE_PREFIX, is_image_name, shown_name, split_options
from mixmood.data.images.pool import FeatureSource, ImageSource, Pool
from mixmood.data.readers.archives import TarSource, ZipSource
from mixmood.data.readers.array import open_idx, open_npy, open_npz
from mixmood.data.readers.dicom import with_frames
from mixmood.data.readers.files import FolderSource, ManifestSource
from mixmood.data.readers.kept import open_kept
from mixmood.data.readers.noise import open_noise
from mixmood.data.readers.objects import HUB_PREFIX, FileList, as_array, open_hub, open_object
from mixmood.data.readers.parquet import ParquetSource
from mixmood.data.readers.remote import RemoteFolder, open_fetched

Opener = Callable[..., Pool]

OPENERS: dict[str, Opener] = {
    ".zip": ZipSource,
    **dict.fromkeys((".tar", ".tar.gz", ".tgz"), TarSource),
    ".npy": open_npy,
    ".npz": open_npz,
    **dict.fromkeys((".txt", ".lst", ".csv", ".tsv"), ManifestSource),
    **dict.fromkeys(("-ubyte", "-ubyte.gz", ".idx", ".idx.gz"), open_idx),
    ".parquet": ParquetSource,
}
"""The function that opens a file, by the end of the file's name."""

_OPENERS_BY_START: dict[bytes, Opener] = {
    b"PK\3\4": ZipSource,
    b"\x93NUMPY": open_npy,
    b"\0\0\x08": open_idx,
    b"PAR1": ParquetSource,
}


def open_pool(
    what: Any,
    name: str | None = None,
    *,
    seed: int = 0,
    cache: FeatureCache | None = None,
    role: str = "pool",
    frames: str = "middle",
) -> Pool:
    """The pool that `what` names or holds; its images are not read yet.

    Args:
        what: A path to a folder, archive (.zip, .tar, .tar.gz), array file (.npy, .npz), IDX or
            Parquet file, folder of Parquet files, or list of paths (.txt, .csv, .tsv); a URL that
            fsspec knows; a folder or table and its column of classes, `FILE.csv?label=COLUMN`;
            a path of which every DICOM frame is an image, `DIR?frames=each`;
            `hf://NAME@CONFIG:SPLIT`; `noise:gaussian` or `noise:salt-and-pepper`,
            with options as in `noise:gaussian?count=500&size=64`; an object of Python, see
            `open_object`; or a pool.
        name: The name of the pool; by default that of the file or folder, or of the kind.
        seed: That of a noise pool.
        cache: Keeps the index of a tar archive; with None the archive is scanned each time.
        role: The word for the pool in messages, such as "labelled set".
        frames: "middle" for one image of a DICOM file with several frames, "each" for all.
    """
    pool = _opened(what, name, seed, cache, role)
    if frames != MIDDLE:
        pool = with_frames(pool, frames)
    if role != "pool":
        # A table of labels that cannot be used is an error before any image is read.
        _ = pool.labels
    # Every output shows the name, and some outputs accept valid UTF-8 only.
    shown = shown_name(name or pool.name)
    if shown != pool.name:
        pool = copy.copy(pool)
        pool.name = shown
    return pool


def _opened(what: Any, name: str | None, seed: int, cache: FeatureCache | None, role: str) -> Pool:
    if isinstance(what, ImageSource | FeatureSource):
        return what
    if not isinstance(what, str | os.PathLike):
        return open_object(what, name)
    if isinstance(what, str):
        if what.startswith(NOISE_PREFIX):
            return open_noise(what, name, seed)
        if what.startswith(HUB_PREFIX):
            return open_hub(what, name)
        if "://" in what:
            return _open_url(what, name)
        if not what.strip():
            # As a path it would be the current folder, with all that is below it.
            raise OptionError(f"The {role} has an empty path. Is a variable of the shell not set?")
    path, label, frames = split_options(expanded(Path(what)))
    pool = _open_path(path, name, label, cache, role)
    return pool if frames is None else with_frames(pool, frames)


def _open_path(
    path: Path, name: str | None, label: str | None, cache: FeatureCache | None, role: str
) -> Pool:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _open_folder(path, name or path.resolve().name, label)
        if not stat.S_ISREG(mode):
            raise InputError(f"Cannot open the {role} {path}: it is neither a file nor a folder.")
        with path.open("rb") as file:
            start = file.read(8)
    except (OSError, ValueError) as error:
        hint = near_path(path) or " Check the path."
        raise InputError(f"Cannot open the {role} {path}: {reason(error)}.{hint}") from error
    suffix = _suffix(path.name)
    opener = OPENERS[suffix] if suffix else _opener_by_content(path, start)
    name = name or _stem(path.name, suffix)
    if label is not None:
        if opener is not ParquetSource and suffix not in (".csv", ".tsv"):
            raise InputError(
                f"{path} has no columns, so ?label={label} cannot be used. Only folders with a "
                "labels.csv, CSV files and Parquet files have columns."
            )
        return opener(path, name, label)
    if opener in (ManifestSource, ParquetSource):
        kept = open_kept(path, name, lambda base: _opened(base, None, 0, cache, "pool"))
        return opener(path, name) if kept is None else kept
    return TarSource(path, name, cache) if opener is TarSource else opener(path, name)


def _open_folder(path: Path, name: str, label: str | None) -> Pool:
    try:
        return FolderSource(path, name, label)
    except InputError:
        # As for images: skip FIFOs, which would block, and links that leave the folder.
        files = (file for file in sorted(path.rglob("*.parquet")) if file.is_file())
        shards = [file for file in files if file.resolve().is_relative_to(path.resolve())]
        if not shards:
            raise
        return ParquetSource(shards, name, label)


def _open_url(url: str, name: str | None) -> Pool:
    last = url.rstrip("/").rpartition("/")[2]
    suffix = _suffix(last)
    if suffix is None:
        return RemoteFolder(url, name or last)
    if OPENERS[suffix] is ManifestSource:
        raise InputError(
            f"{url} is a list of paths. Such a list must be on this machine, beside its images. "
            "Give the URL of the folder of the images instead."
        )
    return open_fetched(url, OPENERS[suffix], name or _stem(last, suffix))


def _suffix(file: str) -> str | None:
    """The longest key of OPENERS with which a file's name ends; None if there is none."""
    return max((end for end in OPENERS if file.lower().endswith(end)), key=len, default=None)


def _opener_by_content(path: Path, start: bytes) -> Opener:
    if is_image_name(os.fsencode(path.name)):
        return lambda path, name: FileList([path], name)
    for magic, opener in _OPENERS_BY_START.items():
        if start.startswith(magic):
            return opener
    raise InputError(
        f"{path} is not a known kind of pool. Give a folder, or a file whose name ends in "
        f"{', '.join(OPENERS)}."
    )


def _stem(file: str, suffix: str | None) -> str:
    """The file's name without its suffix: `crawl` for `crawl.tar.gz`."""
    if suffix is None or len(suffix) == len(file):
        return file
    return re.sub(r"[-.]idx\d$", "", file[: -len(suffix)])


# NAME=PATH; a NAME has no slash and no colon, so that neither a path nor a URL with "=" is split.
NAMED = re.compile(r"([^=/\\:]+)=(.+)", re.DOTALL)
N_LOOKED_AT = 8  # labelled images of which the first readable one gives the size of noise
SMALLEST_NOISE, LARGEST_NOISE = 8, 224


@dataclass(frozen=True)
class OpenedCandidates:
    """The pools by name, the user's path or object of each, and why others were not opened."""

    pools: dict[str, Pool]
    given: dict[str, Any]
    set_aside: dict[str, str]


def open_candidates(
    candidates: Mapping[str, Any] | Sequence[Any],
    labelled: Pool,
    seed: int,
    cache: FeatureCache | None = None,
    frames: str = "middle",
) -> OpenedCandidates:
    """The opened pools of a dictionary, or of a list, in which `web=crawl.zip` names a pool.

    A broken pool is set aside. A path that does not exist is an error: it is probably mistyped.
    """
    opened = OpenedCandidates({}, {}, {})
    for number, (name, what) in enumerate(_named(candidates), start=1):
        try:
            fixed = with_noise_settings(what, labelled, seed)
            pool = open_pool(fixed, name, seed=seed, cache=cache, frames=frames)
        except InputError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise
            is_path = isinstance(what, str | os.PathLike)
            called = shown_name(name or (str(what) if is_path else f"pool {number}"))
            _check_new(called, opened)
            opened.set_aside[called] = str(error)
            continue
        both = (opened.given.get(pool.name), what)
        paths = [one for one in both if isinstance(one, str | os.PathLike)]
        if len(paths) == 2 and Path(paths[0]).absolute() == Path(paths[1]).absolute():
            raise OptionError(f"The pool '{pool.name}' is given twice. Give it once.")
        _check_new(pool.name, opened)
        opened.pools[pool.name], opened.given[pool.name] = pool, what
    return opened


def _check_new(name: str, known: OpenedCandidates) -> None:
    if name in known.pools or name in known.set_aside:
        raise OptionError(
            f"Two pools are called '{name}'. Name them: NAME=PATH on the command "
            "line, a dictionary in Python."
        )


def _named(candidates: Mapping[str, Any] | Sequence[Any]) -> Iterator[tuple[str | None, Any]]:
    """The name of each candidate, None if none was given, and its path or object."""
    if isinstance(candidates, Mapping):
        for name, what in candidates.items():
            if name is not None and not isinstance(name, str):
                raise OptionError(f"The name of a pool must be a text; got {name!r:.100}.")
            yield name, what
        return
    # One pool may be given without a list; the rows of an array are not pools.
    if isinstance(candidates, list | tuple):
        is_one = are_image_files(candidates)
    else:
        alone = (str, os.PathLike, ImageSource, FeatureSource, Image.Image)
        is_pool = isinstance(candidates, alone) or hasattr(candidates, "as_pool")
        is_one = is_pool or as_array(candidates) is not None
    listed: Iterable[Any] = [candidates] if is_one else candidates
    for what in listed:
        match = NAMED.fullmatch(what) if isinstance(what, str) else None
        # A file or folder may be called `x=y`: if it exists, it is the candidate.
        if match and not os.path.exists(expanded(what)):  # noqa: PTH110 - takes any text
            yield match[1], match[2]
        else:
            yield None, what


def are_image_files(what: Any) -> bool:
    """Whether this is a list of paths of images, which are one pool and not a pool each."""
    return (
        isinstance(what, list | tuple)
        and len(what) > 1
        and all(isinstance(one, str | os.PathLike) for one in what)
        and all(is_image_name(os.fsencode(one)) for one in what)
    )


def with_noise_settings(what: Any, labelled: Pool | None, seed: int) -> Any:
    """The text of noise with its size and seed, which fix the images; anything else as it is.

    >>> with_noise_settings("noise:gaussian?size=64", None, 3)
    'noise:gaussian?size=64&seed=3'
    """
    if not isinstance(what, str) or not what.startswith(NOISE_PREFIX):
        return what
    open_noise(what, None, seed)
    kind, _, query = what.partition("?")
    given = dict(parse_qsl(query))
    # Labelled images are decoded only if noise needs their size.
    if "size" not in given and (size := noise_size(labelled)) is not None:
        given["size"] = str(size)
    return f"{kind}?{urlencode(given | {'seed': given.get('seed', seed)})}"


def noise_size(labelled: Pool | None) -> int | None:
    """The side of the labelled images: noise of another size would be smoothed or stretched.

    None for features, or if the first images cannot be read.
    """
    if not isinstance(labelled, ImageSource):
        return None
    for picture in labelled.read(range(min(len(labelled), N_LOOKED_AT))):
        if isinstance(picture, np.ndarray):
            return int(np.clip(min(picture.shape[:2]), SMALLEST_NOISE, LARGEST_NOISE))
    return None
