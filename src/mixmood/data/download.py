"""Downloads a data set of the catalogue, verifies and unpacks it, and writes it as one pack."""

import csv
import io
import math
import re
import shutil
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mixmood.core.errors import InputError, OutputError, errors_as, reason
from mixmood.core.files import atomic_file, check_size, hold, make_folder, sweep
from mixmood.core.listener import Listener, Silent
from mixmood.data.images.decode import decode
from mixmood.data.readers.array import open_idx
from mixmood.data.sets import DataSet, RemoteFile

MOST_BYTES = 2 * 2**30  # the largest array that a .mat file may state


class Unpacked(NamedTuple):
    """Images, shape (n, height, width) or (n, height, width, 3), their classes and class names."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]


def unpack(form: str, paths: Sequence[Path], shape: tuple[int, ...]) -> Unpacked:
    """The content of a data set's files; `form` is a key of FORMS, `shape` that of one image."""
    advice = "Delete it and get the data set again."
    with errors_as(InputError, f"Cannot unpack {paths[0]}", advice):
        return FORMS[form](paths, shape)


def _idx(paths: Sequence[Path], _shape: tuple[int, ...]) -> Unpacked:
    pool = open_idx(paths[0], paths[0].name)
    if pool.labels is None:
        raise ValueError("the file of its labels is not in the same folder")
    images = np.stack([pool.fetch(index) for index in range(len(pool))])
    return Unpacked(images, pool.labels.codes.astype(np.int64), pool.labels.names)


def _cifar(paths: Sequence[Path], _shape: tuple[int, ...]) -> Unpacked:
    records: dict[str, NDArray[np.uint8]] = {}
    names: tuple[str, ...] = ()
    with tarfile.open(paths[0], "r:gz") as archive:
        for member in archive:
            word = Path(member.name).name
            if word == "batches.meta.txt":
                names = tuple(_member(archive, member).decode().split())
            elif re.fullmatch(r"data_batch_\d\.bin", word):
                records[word] = np.frombuffer(_member(archive, member), dtype=np.uint8)
    rows = np.concatenate([records[word] for word in sorted(records)]).reshape(-1, 1 + 3 * 32 * 32)
    pixels = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return Unpacked(np.ascontiguousarray(pixels), rows[:, 0].astype(np.int64), names)


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    check_size(member.size, member.name)
    if (file := archive.extractfile(member)) is None:
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
        pattern = re.compile(r"/train/(n\d+)/images/[^/]+\.JPEG$")
        members = sorted(archive.infolist(), key=lambda member: member.filename)
        found = [(match[1], one) for one in members if (match := pattern.search(one.filename))]
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
            picture = np.asarray(Image.fromarray(picture).resize((shape[1], shape[0])))
        images[row] = picture
    return Unpacked(images, labels.astype(np.int64), tuple(map(str, names.tolist())))


FORMS: dict[str, Callable[[Sequence[Path], tuple[int, ...]], Unpacked]] = {
    "idx": _idx,
    "cifar": _cifar,
    "svhn": _svhn,
    "tiny-imagenet": _tiny_imagenet,
    "fashion-product": _fashion_product,
}

CHUNK = 256 * 1024
TIMEOUT_S = 60
# A file without a published size may be this much larger than expected.
TOLERANCE = 1.5


def get(entry: DataSet, home: Path, progress: Listener = Silent()) -> Path:  # noqa: B008
    """The pack of a data set in the folder `home`; made if it is not there."""
    pack = home / f"{entry.name}.npz"
    if pack.is_file():
        return pack
    downloads = make_folder(home / "downloads", "Name another folder in MIXMOOD_DATA.")
    with _alone(downloads / f"{entry.name}.lock"):
        # Another process may have made it in the meantime.
        if pack.is_file():
            return pack
        wanted = entry.n_bytes + entry.n_images * math.prod(entry.shape)
        if (free := shutil.disk_usage(home).free) < wanted:
            raise OutputError(
                f"'{entry.name}' needs {wanted // 2**20} MB in {home}; {free // 2**20} MB are "
                "free. Make room, or name another folder in MIXMOOD_DATA."
            )
        paths = [_found(file, home) or _fetch(file, downloads, progress) for file in entry.files]
        content = unpack(entry.form, paths, entry.shape)
        sweep(home, pack.name)
        with atomic_file(pack) as file:
            # Not compressed: images are hardly compressible, and are read singly from the file.
            names = np.array(entry.class_names or content.class_names)
            np.savez(file, images=content.images, labels=content.labels, class_names=names)
        for path in paths:
            if path.parent == downloads:
                path.unlink(missing_ok=True)
    return pack


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock; OutputError if another process holds it."""
    try:
        lock = hold(path)
    except sqlite3.Error as error:
        raise OutputError(
            f"Cannot use the lock {path}: {error}. Make room or name another folder in "
            "MIXMOOD_DATA; if it is a file of another kind, delete it."
        ) from error
    if lock is None:
        raise OutputError(
            f"Another process is getting '{path.stem}' at this moment. Wait for it to end, and "
            "run the same command again if it failed."
        )
    with closing(lock):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _found(file: RemoteFile, home: Path) -> Path | None:
    import pooch

    path = home / file.name
    if not path.is_file():
        return None
    if file.sha256 is not None and (found := pooch.file_hash(path)) != file.sha256:
        raise InputError(
            f"{path} is not the official file: its SHA-256 is {found}, and {file.sha256} was "
            "wanted. Delete it or move it away."
        )
    return path


def _fetch(file: RemoteFile, folder: Path, progress: Listener) -> Path:
    """The verified file, from the first URL that works."""
    import pooch
    import requests

    target, part = folder / file.name, folder / f"{file.name}.part"
    if target.is_file() and file.sha256 in (None, pooch.file_hash(target)):
        return target
    problems = []
    for url in file.urls:
        try:
            _download(url, file, part, progress)
            if file.sha256 is not None and (found := pooch.file_hash(part)) != file.sha256:
                part.unlink()
                raise ValueError(f"not the official file (expected {file.sha256} but got {found})")
            return part.replace(target)
        except requests.RequestException as error:
            why = f"no connection ({type(error).__name__})"
            if error.response is not None:
                why = f"the server answers {error.response.status_code}"
            problems.append(f"{url}: {why}")
        except OSError as error:
            raise OutputError(f"Cannot write to {folder}: {reason(error)}.") from error
        except ValueError as error:
            problems.append(f"{url}: {error}")
    raise InputError(
        f"Cannot get {file.name}. Tried {'; '.join(problems)}. Try again later; or fetch it "
        f"elsewhere, put it into {folder.parent} and run the same command again."
    )


def _download(url: str, file: RemoteFile, part: Path, progress: Listener) -> None:
    """Fetch the file into `part`, after the bytes that are there already."""
    import requests

    n_before = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={n_before}-"} if n_before else {}
    most = file.n_bytes * (1 if file.sha256 else TOLERANCE)
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as answer:
        if n_before and not answer.ok:
            # The server refuses the rest, possibly because there is none: start again.
            part.unlink()
        answer.raise_for_status()
        is_rest = answer.status_code == requests.codes.partial_content
        progress.start(file.name, file.n_bytes)
        progress.advance(file.name, n_before if is_rest else 0)
        with part.open("ab" if is_rest else "wb") as target:
            for chunk in answer.iter_content(CHUNK):
                target.write(chunk)
                progress.advance(file.name, len(chunk))
                if target.tell() > most:
                    part.unlink()
                    raise ValueError(f"it sent more than the {file.n_bytes} bytes expected")
    progress.finish(file.name)
