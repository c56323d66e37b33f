"""Which data sets can be asked for by name, and how each is opened."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mixmood.core.errors import InputError, OptionError
from mixmood.core.files import expanded, own_place
from mixmood.core.seeds import rng_for
from mixmood.core.text import unknown_name
from mixmood.data.images.labels import labels_from_values
from mixmood.data.images.pool import ImageSource, Labels
from mixmood.data.readers.array import ImageArray, open_npz
from mixmood.data.readers.noise import NoiseSource

PHOTOS = ("china", "flower")


def digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Scikit-learn's handwritten digits: images (1797, 8, 8) with 0..255, and their classes 0..9.

    The stored values are 0..16; 16 becomes 255.
    """
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
NOISE_SIDE = 8
"""The side of the digits, because noise of another size would be another kind of noise."""


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

    def pool(name: str, pictures: "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]") -> ImageSource:
        return ImageArray(pictures[:N_POOL], name)

    return labelled, {
        source.name: source
        for source in (
            pool("more digits 0-4", images[is_known & ~is_labelled]),
            pool("digits 5-9", images[~is_known]),
            pool("photo patches", photo_patches(N_POOL, PATCH_SIDE, rng)),
            NoiseSource("gaussian", "gaussian noise", count=N_POOL, size=NOISE_SIDE, seed=seed),
            NoiseSource(
                "salt-and-pepper", "salt and pepper", count=N_POOL, size=NOISE_SIDE, seed=seed
            ),
        )
    }


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set: URLs in the order to try, and the SHA-256 of its content.

    `sha256` is None if none is published: the file is then not verified.
    """

    name: str
    urls: tuple[str, ...]
    n_bytes: int
    sha256: str | None


@dataclass(frozen=True)
class DataSet:
    """A data set of the catalogue; `form` names its reader in `mixmood.data.download`."""

    name: str
    title: str
    form: str
    files: tuple[RemoteFile, ...]
    n_images: int
    shape: tuple[int, ...]
    licence: str
    citation: str
    class_names: tuple[str, ...] | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes to download."""
        return sum(file.n_bytes for file in self.files)

    @property
    def n_unpacked(self) -> int:
        """Bytes of its pixels."""
        return self.n_images * math.prod(self.shape)


def _idx_pair(
    bases: tuple[str, ...], images: tuple[int, str], labels: tuple[int, str]
) -> tuple[RemoteFile, ...]:
    names = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
    return tuple(
        RemoteFile(name, tuple(base + name for base in bases), n_bytes, sha256)
        for name, (n_bytes, sha256) in zip(names, (images, labels), strict=True)
    )


_SETS = (
    DataSet(
        name="mnist",
        title="MNIST, training images",
        form="idx",
        files=_idx_pair(
            (
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "http://yann.lecun.com/exdb/mnist/",
            ),
            (9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
            (28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        ),
        n_images=60_000,
        shape=(28, 28),
        licence="CC BY-SA 3.0",
        citation="LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document "
        "recognition. Proceedings of the IEEE 86, 1998.",
    ),
    DataSet(
        name="fashion_mnist",
        title="FashionMNIST, training images",
        form="idx",
        files=_idx_pair(
            (
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            ),
            (26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
            (29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        ),
        n_images=60_000,
        shape=(28, 28),
        licence="MIT",
        citation="Xiao, Rasul, Vollgraf: Fashion-MNIST, a novel image dataset for benchmarking "
        "machine learning algorithms. 2017.",
        class_names=(
            *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
            *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        ),
    ),
    DataSet(
        name="cifar10",
        title="CIFAR-10, training images, binary version",
        form="cifar",
        files=(
            RemoteFile(
                "cifar-10-binary.tar.gz",
                ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
                170_052_171,
                "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            ),
        ),
        n_images=50_000,
        shape=(32, 32, 3),
        licence="none stated; cite the report",
        citation="Krizhevsky: Learning multiple layers of features from tiny images. 2009.",
    ),
    DataSet(
        name="svhn",
        title="Street View House Numbers, cropped training digits",
        form="svhn",
        files=(
            RemoteFile(
                "train_32x32.mat",
                ("http://ufldl.stanford.edu/housenumbers/train_32x32.mat",),
                182_040_794,
                "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
            ),
        ),
        n_images=73_257,
        shape=(32, 32, 3),
        licence="non-commercial use only",
        citation="Netzer et al.: Reading digits in natural images with unsupervised feature "
        "learning. NIPS workshop, 2011.",
    ),
    DataSet(
        name="tiny_imagenet",
        title="Tiny ImageNet, training images",
        form="tiny-imagenet",
        files=(
            RemoteFile(
                "tiny-imagenet-200.zip",
                (
                    "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
                    "https://cs231n.stanford.edu/tiny-imagenet-200.zip",
                ),
                248_100_043,
                "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
            ),
        ),
        n_images=100_000,
        shape=(64, 64, 3),
        licence="non-commercial research, as ImageNet",
        citation="Deng et al.: ImageNet, a large-scale hierarchical image database. CVPR 2009.",
    ),
    DataSet(
        name="fashion_product",
        title="Fashion Product Images (small)",
        form="fashion-product",
        files=(
            RemoteFile(
                "fashion-product-images-small.zip",
                (
                    "https://www.kaggle.com/api/v1/datasets/download/paramaggarwal/"
                    "fashion-product-images-small",
                ),
                593_000_000,
                None,
            ),
        ),
        n_images=44_441,
        shape=(80, 60, 3),
        licence="see its page; treat as non-commercial research",
        citation="Aggarwal: Fashion Product Images (small). Kaggle, 2019.",
    ),
)

CATALOGUE = {entry.name: entry for entry in _SETS}

N_PATCHES = 3000
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
