"""Reads the official files of the catalogue's data sets into arrays. Sizes are bounded."""

import csv
import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mixmood.core.errors import InputError, reason
from mixmood.core.files.bounded import check_size
from mixmood.data.arrays.idx import open_idx
from mixmood.data.decoding.decode import decode

CIFAR_RECORD = 1 + 3 * 32 * 32
MOST_BYTES = 2 * 2**30
"""The largest array that a .mat file may state."""


class Unpacked(NamedTuple):
    """Images, shape (n, height, width) or (n, height, width, 3), their classes and class names."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]


def unpack(form: str, paths: Sequence[Path], shape: tuple[int, ...]) -> Unpacked:
    """The content of a data set's files.

    Args:
        form: A key of FORMS.
        paths: The files.
        shape: The shape of one image.
    """
    try:
        return FORMS[form](paths, shape)
    except InputError:
        raise
    except Exception as error:
        # Readers of archives, .mat files and pictures raise many kinds of errors.
        raise InputError(
            f"Cannot unpack {paths[0]}: {reason(error)}. Delete it and get the data set again."
        ) from error


def _idx(paths: Sequence[Path], _shape: tuple[int, ...]) -> Unpacked:
    pool = open_idx(paths[0], paths[0].name)
    if pool.labels is None:
        raise ValueError("the file of its labels is not in the same folder")
    images = np.stack([pool.fetch(index) for index in range(len(pool))])
    return Unpacked(images, pool.labels.codes.astype(np.int64), pool.labels.names)


def _cifar(paths: Sequence[Path], _shape: tuple[int, ...]) -> Unpacked:
    records: list[tuple[str, NDArray[np.uint8]]] = []
    names: tuple[str, ...] = ()
    with tarfile.open(paths[0], "r:gz") as archive:
        for member in archive:
            word = Path(member.name).name
            if word == "batches.meta.txt":
                names = tuple(_member(archive, member).decode().split())
            elif re.fullmatch(r"data_batch_\d\.bin", word):
                data = np.frombuffer(_member(archive, member), dtype=np.uint8)
                records.append((word, data.reshape(-1, CIFAR_RECORD)))
    rows = np.concatenate([data for _, data in sorted(records, key=lambda pair: pair[0])])
    pixels = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return Unpacked(np.ascontiguousarray(pixels), rows[:, 0].astype(np.int64), names)


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    check_size(member.size, member.name)
    file: IO[bytes] | None = archive.extractfile(member)
    if file is None:
        raise ValueError(f"{member.name} is not a regular file")
    return file.read(member.size)


def _svhn(paths: Sequence[Path], shape: tuple[int, ...]) -> Unpacked:
    from scipy.io import loadmat, whosmat

    sizes = {name: size for name, size, _ in whosmat(str(paths[0]))}
    if sizes["X"][:3] != shape or np.prod(sizes["X"], dtype=float) > MOST_BYTES:
        raise ValueError(f"X has the shape {sizes['X']}")
    content = loadmat(str(paths[0]), variable_names=["X", "y"])
    images = np.ascontiguousarray(content["X"].transpose(3, 0, 1, 2))
    # The file calls the digit zero 10.
    labels = content["y"].ravel().astype(np.int64) % 10
    if images.dtype != np.uint8 or len(labels) != len(images):
        raise ValueError(f"{len(images)} images of {images.dtype} have {len(labels)} labels")
    return Unpacked(images, labels, tuple(map(str, range(10))))


def _tiny_imagenet(paths: Sequence[Path], shape: tuple[int, ...]) -> Unpacked:
    with zipfile.ZipFile(paths[0]) as archive:
        found = [
            (match[1], member)
            for member in archive.infolist()
            if (match := re.search(r"/train/(n\d+)/images/[^/]+\.JPEG$", member.filename))
        ]
        found.sort(key=lambda pair: pair[1].filename)
        return _pictures(archive, found, shape)


def _fashion_product(paths: Sequence[Path], shape: tuple[int, ...]) -> Unpacked:
    with zipfile.ZipFile(paths[0]) as archive:
        members = {member.filename: member for member in archive.infolist()}
        table = min((name for name in members if name.endswith("styles.csv")), key=len)
        check_size(members[table].file_size, table)
        rows = csv.DictReader(io.StringIO(archive.read(table).decode("utf-8", "replace")))
        kinds = {row["id"]: row["subCategory"] for row in rows}
        # The archive has every file twice: the one with the shorter path is used.
        pictures: dict[str, zipfile.ZipInfo] = {}
        for name in sorted(members, key=len):
            if match := re.search(r"(?:^|/)images/(\d+)\.jpg$", name):
                pictures.setdefault(match[1], members[name])
        found = [(kinds[key], pictures[key]) for key in sorted(pictures, key=int) if key in kinds]
        return _pictures(archive, found, shape)


def _pictures(
    archive: zipfile.ZipFile, found: list[tuple[str, zipfile.ZipInfo]], shape: tuple[int, ...]
) -> Unpacked:
    """The pictures of an archive, resized to one shape, with the class of each."""
    if not found:
        raise ValueError("it holds no images where they should be")
    names, labels = np.unique([name for name, _ in found], return_inverse=True)
    images = np.empty((len(found), *shape), dtype=np.uint8)
    for row, (_, member) in enumerate(found):
        check_size(member.file_size, member.filename)
        picture = decode(archive.read(member), member.filename)
        if picture.shape != shape:
            resized = Image.fromarray(picture).resize((shape[1], shape[0]))
            picture = np.asarray(resized)
        images[row] = picture
    return Unpacked(images, labels.astype(np.int64), tuple(map(str, names.tolist())))


FORMS: dict[str, Callable[[Sequence[Path], tuple[int, ...]], Unpacked]] = {
    "idx": _idx,
    "cifar": _cifar,
    "svhn": _svhn,
    "tiny-imagenet": _tiny_imagenet,
    "fashion-product": _fashion_product,
}
