"""Opens data sets by name: embedded ones, and packs in the data folder."""

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from mixmood.core.errors import InputError, OptionError
from mixmood.core.files.places import expanded, own_place
from mixmood.core.seeds import rng_for
from mixmood.core.suggest import unknown_name
from mixmood.data.arrays.array_pools import ImageArray, labels_from_values
from mixmood.data.arrays.npy import open_npz
from mixmood.data.pools.pool import ImageSource
from mixmood.data.sets.catalogue import CATALOGUE
from mixmood.data.sets.embedded import digits, photo_patches

N_PATCHES = 3000
PATCH_SIDE = 32
SUFFIX = ".npz"


def data_home() -> Path:
    """The folder of the data sets: MIXMOOD_DATA, or the system's folder for user data."""
    from platformdirs import user_data_dir

    chosen = os.environ.get("MIXMOOD_DATA")
    place = expanded(chosen) if chosen else own_place(user_data_dir)
    if place is None:
        raise OptionError(
            "There is no folder for data sets: this user has no home directory. "
            "Name a folder in MIXMOOD_DATA."
        )
    return place


def pack_path(name: str, home: Path | None = None) -> Path:
    """The path of the pack of a data set, which need not exist."""
    return (home or data_home()) / f"{name}{SUFFIX}"


def known_sets(home: Path | None = None) -> list[str]:
    """All names that can be asked for: embedded, catalogued, or packed in the data folder."""
    return sorted({*EMBEDDED, *CATALOGUE, *packed_sets(home)})


def packed_sets(home: Path | None = None) -> dict[str, Path]:
    """The packs in the data folder, by name."""
    packs = sorted((home or data_home()).glob(f"*{SUFFIX}"))
    return {path.stem: path for path in packs if path.is_file()}


def open_set(name: str, home: Path | None = None) -> ImageSource:
    """The data set of this name, with its labels if it has any."""
    if name in EMBEDDED:
        return EMBEDDED[name]()
    # Only names of this list become paths, so none can lead out of the folder.
    if name not in known_sets(home):
        raise unknown_name("data set", name, known_sets(home))
    path = pack_path(name, home)
    if not path.is_file():
        raise InputError(
            f"The data set '{name}' is not in {path.parent}. Get it with: mixmood data get {name}. "
            f"Without a network, put {path.name} (arrays images, labels, class_names) into a "
            "folder and name that folder in MIXMOOD_DATA."
        )
    return _open_pack(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _open_pack(path: Path, _changed_ns: int) -> ImageSource:
    # Opening a compressed pack is the slowest step of drawing a split, and splits share packs.
    pool = open_npz(path, path.stem)
    if not isinstance(pool, ImageSource):
        raise InputError(f"{path} must hold an array 'images'; it holds features.")
    return pool


@lru_cache(maxsize=1)
def _digits() -> ImageSource:
    images, labels = digits()
    return ImageArray(images, "digits", labels_from_values(labels, "digits"))


@lru_cache(maxsize=1)
def _photo_patches() -> ImageSource:
    patches = photo_patches(N_PATCHES, PATCH_SIDE, rng_for(0, "photo_patches"))
    return ImageArray(np.ascontiguousarray(patches), "photo_patches")


EMBEDDED: dict[str, Callable[[], ImageSource]] = {
    "digits": _digits,
    "photo_patches": _photo_patches,
}
