"""A folder of the kept images: hard links or copies, under names that are valid on any system."""

import os
import re
from pathlib import Path

from mixmood.core.arrays import Rows
from mixmood.core.errors import InputError, OutputError
from mixmood.core.files import atomic_file, make_folder, write_atomic
from mixmood.core.listener import Listener
from mixmood.data.images.pool import FeatureSource, ImageSource, Pool

LONGEST_NAME = 80
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_OWN_NAME = re.compile(r"\.?\d{9,}_")


def fill_folder(
    pool: ImageSource, indices: Rows, folder: Path, progress: Listener, *, with_links: bool
) -> None:
    """Put images into a folder that `check_empty` has checked; equal names are replaced."""
    from PIL import Image

    make_folder(folder)
    progress.start(folder.name, len(indices))
    for index in indices.tolist():
        target = folder / safe_name(pool.locate(index), index)
        source = pool.file_path(index) if with_links else None
        if source is None or not _linked(source, target):
            raw = pool.fetch(index)
            if isinstance(raw, bytes):
                write_atomic(target, raw)
            else:
                with atomic_file(target.with_name(f"{target.name}.png")) as file:
                    Image.fromarray(pool.picture(index)).save(file, "PNG")
        progress.advance(folder.name)
    progress.finish(folder.name)


def images_of(pool: Pool) -> ImageSource:
    """The pool itself; refuse a pool of features, which has no images."""
    if isinstance(pool, FeatureSource):
        raise InputError(f"{pool.name} holds features: there are no images to link or copy.")
    return pool


def check_empty(folder: Path, *, resume: bool = False) -> None:
    """Refuse a folder that is not empty; with `resume` it may hold images of a stopped filter."""
    if not folder.exists():
        return
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else [folder.name]
    if not all(resume and _OWN_NAME.match(name) for name in names):
        raise OutputError(
            f"{folder} exists and is not an empty folder. Name a new or an empty one."
        )


def safe_name(path: str, index: int) -> str:
    """A file name for an image: its index, so that names differ, and its own name made safe.

    >>> safe_name("a/b c;=.JPG", 7), safe_name("../../x", 12)
    ('000000007_b_c_.JPG', '000000012_x')
    """
    own = _UNSAFE.sub("_", re.split(r"[/\\]", path)[-1])[-LONGEST_NAME:]
    return f"{index:09d}_{own}"


def _linked(source: bytes, target: Path) -> bool:
    try:
        target.unlink(missing_ok=True)
        os.link(os.path.realpath(source), target)
    except OSError:
        return False  # another disk, or one without links: the image is copied instead
    return True
