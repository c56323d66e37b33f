"""Pools behind a URL, through fsspec: folders are listed, single files fetched once."""

import os
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mixmood.core.errors import InputError, UnreadableImageError, errors_as, needing
from mixmood.core.files import check_size
from mixmood.data.images.names import by_length, count_passed_over, is_image_path, passed_over_notes
from mixmood.data.images.pool import Pool
from mixmood.data.readers.files import PathSource

MAX_FETCHED_BYTES = 64 * 2**30  # the largest temporary file of an archive or array

_PIECE = 2**20
_DEEPEST = 32


class RemoteFolder(PathSource):
    """The images below a URL. Opening lists their names; an image is fetched when it is read."""

    def __init__(self, url: str, name: str) -> None:
        """List the images; refuse a URL that cannot be listed or has no images."""
        self.name = name
        self._system, self._root = _connect(url)
        with errors_as(InputError, f"Cannot open {url}", names_class=True):
            paths = self._system.find(self._root, maxdepth=_DEEPEST)
        prefix, passed_over = self._root.rstrip("/") + "/", Counter[str]()
        # With file:// URLs a name may be any bytes.
        names = [os.fsencode(path.removeprefix(prefix)) for path in paths]
        self._names = sorted(filter(is_image_path, names), key=by_length)
        for path in names:
            count_passed_over(passed_over, path)
        self.notes = passed_over_notes(passed_over)
        if not self._names:
            raise InputError(
                f"No images behind {url}: found {len(paths)} files. Give the URL of a folder that "
                "can be listed, or of an archive or array file."
            )

    def fetch(self, index: int) -> bytes:
        """The bytes of the image; refused if they are more than an image file may have."""
        where = self.locate(index)
        path = f"{self._root.rstrip('/')}/{os.fsdecode(self._names[index])}"
        data = bytearray()
        with errors_as(UnreadableImageError, f"{where}: cannot be fetched"):
            for piece in _pieces(self._system, path):
                data += piece
                check_size(len(data), where)
        return bytes(data)


def open_fetched(url: str, opener: Callable[[Path, str], Pool], name: str) -> Pool:
    """The pool in a file behind a URL; a temporary copy of the file lives as long as the pool."""
    system, path = _connect(url)
    place = _TemporaryFolder()
    target = place.folder / Path(path).name
    with errors_as(InputError, f"Cannot open {url}", names_class=True), target.open("wb") as file:
        for piece in _pieces(system, path):
            file.write(piece)
            if file.tell() > MAX_FETCHED_BYTES:
                raise ValueError(f"it has more than {MAX_FETCHED_BYTES} bytes")
    pool = opener(target, name)
    # Copies of the pool share this attribute: the file stays as long as any of them.
    pool.fetched_to = place
    return pool


class _TemporaryFolder:
    """A temporary folder that is removed with the last reference to it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mixmood-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


def _connect(url: str) -> tuple[Any, str]:
    with needing("Reading URLs", "remote"):
        import fsspec
    # An ImportError names the package that this kind of URL needs, such as s3fs.
    with errors_as(InputError, f"Cannot open {url}", names_class=True):
        system, path = fsspec.core.url_to_fs(url)
        return system, path


def _pieces(system: Any, path: str) -> Iterator[bytes]:
    # Not every server supports ranges: with block_size 0 fsspec reads HTTP as a stream.
    options = {"block_size": 0} if path.startswith(("http://", "https://")) else {}
    with system.open(path, "rb", **options) as file:
        while piece := file.read(_PIECE):
            yield piece
