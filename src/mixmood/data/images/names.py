"""What names say: which files are images, which were passed over, options behind a path."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.text import either_form
from mixmood.data.images.decode import CONVERT_HEIC

IMAGE_SUFFIXES = frozenset(
    b"avif bmp dcm dib dicom gif ico jfif jpe jpeg jpg mpo pbm pgm png pnm ppm tif tiff "
    b"webp".split()
)
_FOREIGN = frozenset([b"__MACOSX", b"@eaDir", b"lost+found"])


def is_image_name(name: bytes) -> bool:
    """Whether a file of this name, without its folder, counts as an image.

    >>> is_image_name(b"cat.JPG"), is_image_name(b"._cat.jpg"), is_image_name(b"Thumbs.db")
    (True, False, False)
    """
    return name.rpartition(b".")[2].lower() in IMAGE_SUFFIXES and name.find(b".") > 0


def may_be_dicom(name: bytes) -> bool:
    """Whether a file without an image suffix may be DICOM: no dot in its name, or only numbers.

    >>> may_be_dicom(b"IM000001"), may_be_dicom(b"1.2.840.113619.2"), may_be_dicom(b"DICOMDIR")
    (True, True, False)
    """
    is_plain = b"." not in name or name.replace(b".", b"").isdigit()
    return is_plain and not name.startswith(b".") and name not in (b"", b"DICOMDIR")


def is_foreign_folder(name: bytes) -> bool:
    """Whether a folder belongs to an operating system or a tool, not to the pool."""
    return name.startswith(b".") or name in _FOREIGN


def own_name(path: bytes) -> bytes:
    """The name of a file inside an archive; empty for a folder and for a file of a foreign folder.

    >>> own_name(b"study/IM000001"), own_name(b"study/"), own_name(b".git/HEAD")
    (b'IM000001', b'', b'')
    """
    *folders, name = path.split(b"/")
    return b"" if any(map(is_foreign_folder, folders)) else name


def is_image_path(path: bytes) -> bool:
    """Whether a path inside an archive is an image, and not in a foreign folder."""
    return is_image_name(own_name(path))


def may_be_dicom_path(path: bytes) -> bool:
    """Whether a path inside an archive may be DICOM, and is not in a foreign folder."""
    return may_be_dicom(own_name(path))


def names_digest(names: Sequence[bytes]) -> str:
    """A hex digest of names in their order, and of where each of them ends."""
    state = hashlib.sha256(b"names")
    state.update(np.cumsum([len(name) for name in names], dtype="<i8").tobytes())
    state.update(b"".join(names))
    return state.hexdigest()


def by_length(name: bytes) -> tuple[int, bytes]:
    """The key that sorts names by length, then by their bytes: numbers are in natural order.

    >>> sorted([b"10.png", b"2.png", b"1.png"], key=by_length)
    [b'1.png', b'2.png', b'10.png']
    """
    return len(name), name


def shown_bytes(name: bytes) -> str:
    """A name as valid text: bytes that are not UTF-8 are written as \\xNN."""
    return name.decode("utf-8", "backslashreplace")


def shown_name(name: str) -> str:
    """A file name from Python as valid text, as by `shown_bytes`.

    >>> shown_name("caf\\udce9")
    'caf\\\\xe9'
    """
    try:
        return shown_bytes(name.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        # No file has such a name, but a Python string may hold any code point.
        return name.encode("utf-8", "backslashreplace").decode()


COMPANIONS = frozenset(
    b"csv db htm html ini json jsonl lst md md5 names pdf py sha256 toml tsv txt url xml yaml "
    b"yml".split()
)
"""Suffixes of texts that are often stored beside images; those files are not counted."""

ADVICE = {
    "heic": CONVERT_HEIC,
    "heif": CONVERT_HEIC.replace("heic", "heif"),
    "svg": "a drawing: render it to PNG first",
    **dict.fromkeys(
        ["7z", "bz2", "gz", "rar", "tar", "tgz", "xz", "zip", "zst"],
        "an archive inside a pool is not opened: unpack it or give it as a pool",
    ),
}
MOST_KINDS = 1000
N_NAMED = 5
LONGEST_SUFFIX = 12


def count_passed_over(counts: Counter[str], path: bytes) -> None:
    """Count by its suffix a file that is not read, unless hidden, a plain text or an image."""
    name = own_name(path)
    stem, _, suffix = name.lower().rpartition(b".")
    is_plain = not stem or name.startswith(b".") or suffix in COMPANIONS or is_image_name(name)
    kind = shown_bytes(suffix[:LONGEST_SUFFIX])
    if not is_plain and (kind in counts or len(counts) < MOST_KINDS):
        counts[kind] += 1


def passed_over_notes(counts: Mapping[str, int]) -> tuple[str, ...]:
    """One sentence about the files that were passed over; empty if there are none.

    >>> passed_over_notes({"xyz": 1, "svg": 2})[0]
    '3 files were passed over: 2 .svg (a drawing: render it to PNG first), 1 .xyz.'
    """
    if not counts:
        return ()
    named = [
        f"{count} .{suffix}" + (f" ({ADVICE[suffix]})" if suffix in ADVICE else "")
        for suffix, count in sorted(counts.items(), key=lambda found: (-found[1], found[0]))
    ][:N_NAMED]
    total, n_more = sum(counts.values()), len(counts) - N_NAMED
    more = f" and {n_more} other kinds" if n_more > 0 else ""
    files = either_form(total, "file was", "files were")
    return (f"{total} {files} passed over: {', '.join(named)}{more}.",)


NOISE_PREFIX = "noise:"
MIDDLE, EACH = "middle", "each"  # of a DICOM file with several frames: one image, or all
_OPTIONS = re.compile(r"(.+?)\?(?:frames=(\w+)|label=(.+?)(?:&frames=(\w+))?)", re.DOTALL)


def split_options(path: Path) -> tuple[Path, str | None, str | None]:
    """The path alone, its column of classes and its choice of frames; None if one is not given."""
    match = _OPTIONS.fullmatch(str(path))
    # Not `Path.exists`, which raises for names that are too long.
    if match is None or os.path.exists(path):  # noqa: PTH110
        return path, None, None
    return Path(match[1]), match[3], match[2] or match[4]


def with_frames_option(what: Any, frames: str) -> Any:
    """The path with its choice of frames written out; anything but a path is returned unchanged.

    >>> with_frames_option("scans", "each")
    'scans?frames=each'
    """
    is_path = isinstance(what, str | os.PathLike) and not is_url_or_noise(what)
    if frames == MIDDLE or not is_path:
        return what
    _, label, given = split_options(Path(what))
    return what if given is not None else f"{what}{'?' if label is None else '&'}frames={frames}"


def is_url_or_noise(what: Any) -> bool:
    """Whether a pool is named by a URL or is noise, so that its name is not a path."""
    return isinstance(what, str) and ("://" in what or what.startswith(NOISE_PREFIX))
