"""Which data sets can be asked for by name, and how each is opened."""

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mixmood.core.errors import InputError, OptionError
from mixmood.core.files import expanded, own_place
from mixmood.core.listener import Listener, Silent
from mixmood.core.seeds import rng_for
from mixmood.core.text import check_name, unknown_name
from mixmood.data.images.labels import labels_from_values
from mixmood.data.images.pool import ImageSource, Labels
from mixmood.data.readers.array import ImageArray, open_npz
from mixmood.data.readers.noise import NoiseSource

PHOTOS = ("china", "flower")


def digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Scikit-learn's handwritten digits: images (1797, 8, 8) of 0 to 255, and their classes."""
    rows = np.loadtxt(_file("data/digits.csv.gz"), np.int64, delimiter=",")
    images = np.rint(rows[:, :-1].reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    return images, rows[:, -1]


def photo_patches(count: int, size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Square patches of scikit-learn's two photos, china and flower: (count, size, size, 3).

    Every patch is from either photo with equal chance, from anywhere inside it; they may overlap.
    """
    photos = [np.asarray(Image.open(_file(f"images/{name}.jpg"))) for name in PHOTOS]
    patches = np.empty((count, size, size, 3), dtype=np.uint8)
    for patch in patches:
        photo = photos[rng.integers(len(photos))]
        top = rng.integers(photo.shape[0] - size + 1)
        left = rng.integers(photo.shape[1] - size + 1)
        patch[:] = photo[top : top + size, left : left + size]
    return patches


def _file(place: str) -> Path:
    return Path(str(distribution("scikit-learn").locate_file(f"sklearn/datasets/{place}")))


N_CLASSES = 5
N_PER_CLASS = 12
N_POOL = 800
PATCH_SIDE = 32
NOISE_SIDE = 8  # as the digits: noise of another size would be another kind of noise


def demo_sets(seed: int) -> tuple[ImageSource, dict[str, ImageSource]]:
    """Sixty labelled digits of five classes, and five pools from "the same" to "noise"."""
    rng = rng_for(seed, "demo")
    images, classes = digits()
    order = rng.permutation(len(images))
    images, classes = images[order], classes[order]
    is_known = classes < N_CLASSES
    chosen = np.concatenate([np.flatnonzero(classes == c)[:N_PER_CLASS] for c in range(N_CLASSES)])
    is_labelled = np.isin(np.arange(len(images)), chosen)
    names = tuple(f"digit {c}" for c in range(N_CLASSES))
    labels = Labels(classes[is_labelled].astype(np.int32), names)
    labelled = ImageArray(images[is_labelled], "labelled digits 0-4", labels)

    arrays = {
        "more digits 0-4": images[is_known & ~is_labelled][:N_POOL],
        "digits 5-9": images[~is_known][:N_POOL],
        "photo patches": photo_patches(N_POOL, PATCH_SIDE, rng),
    }
    pools: dict[str, ImageSource] = {name: ImageArray(rows, name) for name, rows in arrays.items()}
    for name, kind in {"gaussian noise": "gaussian", "salt and pepper": "salt-and-pepper"}.items():
        pools[name] = NoiseSource(kind, name, count=N_POOL, size=NOISE_SIDE, seed=seed)
    return labelled, pools


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set."""

    name: str
    urls: Sequence[str]  # in the order to try
    n_bytes: int
    sha256: str | None = None  # of its content; None if none is published: it is not verified


@dataclass(frozen=True)
class DataSet:
    """A data set of the catalogue; `form` names its reader in `mixmood.data.download`."""

    name: str
    title: str
    form: str
    files: Sequence[RemoteFile]
    n_images: int
    shape: tuple[int, ...]
    licence: str
    citation: str
    class_names: Sequence[str] | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes to download."""
        return sum(file.n_bytes for file in self.files)


def _catalogue() -> dict[str, DataSet]:
    text = files("mixmood.data").joinpath("catalogue.toml").read_text(encoding="utf-8")
    sets = {}
    for name, entry in tomllib.loads(text).items():
        entry["files"] = [RemoteFile(**file) for file in entry["files"]]
        sets[name] = DataSet(name=name, **entry | {"shape": tuple(entry["shape"])})
    return sets


CATALOGUE = _catalogue()

EMBEDDED = ("digits", "photo_patches")
N_PATCHES = 3000


def data_home() -> Path:
    """The folder of the data sets: MIXMOOD_DATA, or the system's folder for user data."""
    from platformdirs import user_data_dir

    if chosen := os.environ.get("MIXMOOD_DATA"):
        return expanded(chosen)
    if (place := own_place(user_data_dir)) is None:
        raise OptionError(
            "There is no folder for data sets: this user has no home directory. "
            "Name a folder in MIXMOOD_DATA."
        )
    return place


def known_sets() -> list[str]:
    """All names that can be asked for: embedded, catalogued, or packed in the data folder."""
    return sorted({*EMBEDDED, *CATALOGUE, *packed_sets()})


def packed_sets() -> dict[str, Path]:
    """The packs in the data folder, by name."""
    packs = sorted(data_home().glob("*.npz"))
    return {path.stem: path for path in packs if path.is_file()}


def open_set(name: str) -> ImageSource:
    """The data set of this name, with its labels if it has any."""
    if name in EMBEDDED:
        return _embedded(name)
    # Only names of this list become paths, so none can lead out of the folder.
    check_name("data set", name, known_sets())
    path = data_home() / f"{name}.npz"
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


@lru_cache(maxsize=2)
def _embedded(name: str) -> ImageSource:
    if name == "digits":
        images, labels = digits()
        return ImageArray(images, name, labels_from_values(labels, name))
    return ImageArray(photo_patches(N_PATCHES, PATCH_SIDE, rng_for(0, name)), name)


def data_sets() -> dict[str, Path | None]:
    """The path of every data set of the paper and of the data folder; None if not downloaded."""
    return dict.fromkeys(CATALOGUE) | dict(packed_sets())


def get_data_set(name: str, *, listener: Listener | None = None) -> Path:
    """Download and verify a data set of the paper; returns its file, which is a pool."""
    from mixmood.data.download import get

    check_data_set(name)
    return get(CATALOGUE[name], data_home(), listener or Silent())


def check_data_set(name: str, *others: str) -> None:
    """Refuse a name that is not in the catalogue; the error also suggests `others`."""
    if name not in CATALOGUE:
        raise unknown_name("data set", name, [*CATALOGUE, *others])
