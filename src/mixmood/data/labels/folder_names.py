"""Classes from the names of folders."""

import re

import numpy as np
from numpy.typing import NDArray

from mixmood.core.words import either_form
from mixmood.data.files.names import Names, shown_bytes
from mixmood.data.pools.pool import Labels

MOST_CLASSES = 65_536
SPLIT = re.compile(rb"(train|training|val|valid|validation|dev|test|testing|images|data)(20\d\d)?")
"""Names of folders that are splits of a set, not classes (YOLO and COCO have them)."""


def labels_from_folders(names: Names) -> Labels | None:
    """The classes from the folders of a pool; None if the folders are not classes.

    The class of an image is its folder on the first level with several folders: `cat` for
    `cat/1.png`, and also for `crawl/cat/new/1.png` if every path starts with `crawl/`. If the
    folders of that level are splits, as in `train/cat/1.png` and `val/dog/2.png`, the level below
    is used. The result is None unless every image is in such a folder and there are at least two.
    """
    skip = _shared_folder(names)
    codes = np.empty(len(names), dtype=np.int32)
    table: dict[bytes, int] = {}
    is_split = _is_split_level(names, skip)
    for index, name in enumerate(names):
        start = name.find(b"/", skip) + 1 if is_split else skip
        end = name.find(b"/", start)
        if end < 0:
            return None
        codes[index] = table.setdefault(name[start:end], len(table))
        if len(table) > MOST_CLASSES:
            return None
    return labels_from_table(codes, table) if len(table) > 1 else None


def images_without_class_folder(names: Names) -> str:
    """A sentence about images beside the class folders; empty if there are none of either.

    >>> images_without_class_folder(Names.in_order([b"cat/1.png", b"dog/2.png", b"3.png"]))
    '1 of 3 images is in no class folder, such as 3.png: the set counts as unlabelled.'
    """
    skip, folders = _shared_folder(names), set()
    first, n_outside = b"", 0
    for name in names:
        folder, slash, _ = name[skip:].partition(b"/")
        if slash:
            folders.add(folder)
            continue
        first, n_outside = first or name, n_outside + 1
    if not n_outside or len(folders) < 2:
        return ""
    verb = either_form(n_outside, "is", "are")
    return (
        f"{n_outside:,} of {len(names):,} images {verb} in no class folder, such as "
        f"{shown_bytes(first)}: the set counts as unlabelled."
    )


def labels_from_table(codes: NDArray[np.int32], table: dict[bytes, int]) -> Labels:
    """Labels with names in alphabetical order, from codes that number the names of `table`."""
    ordered = sorted(table)
    place = np.empty(len(table), dtype=np.int32)
    for new, name in enumerate(ordered):
        place[table[name]] = new
    return Labels(place[codes], tuple(map(shown_bytes, ordered)))


def _is_split_level(names: Names, skip: int) -> bool:
    """Whether all folders of a level are splits, such as train and test."""
    return all(SPLIT.fullmatch(name[skip:].partition(b"/")[0].lower()) for name in names)


def _shared_folder(names: Names) -> int:
    """The length of the folder with which all names start, including its slash."""
    shared: bytes | None = None
    for name in names:
        if shared is None:
            shared = name[: name.rfind(b"/") + 1]
        while not name.startswith(shared):
            shared = shared[: shared.rfind(b"/", 0, -1) + 1]
        if not shared:
            break
    return len(shared or b"")
