"""What names say: which files are images, which were passed over, options behind a path."""

import hashlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixmood.data.images.decode import CONVERT_HEIC

IMAGE_SUFFIXES = frozenset(
    b"avif bmp dcm dib dicom gif ico jfif jpe jpeg jpg mpo pbm pgm png pnm ppm tif tiff "
    b"webp".split()
)
"""Suffixes of image files, in lower case and without the dot."""

_FOREIGN = frozenset([b"__MACOSX", b"@eaDir", b"lost+found"])
_BLOCK = 65_536


def is_image_name(name: bytes) -> bool:
    """Whether a file of this name, without its folder, counts as an image.

    >>> is_image_name(b"cat.JPG"), is_image_name(b"._cat.jpg"), is_image_name(b"Thumbs.db")
    (True, False, False)
    """
    return name.rpartition(b".")[2].lower() in IMAGE_SUFFIXES and name.find(b".") > 0


def may_be_dicom(name: bytes) -> bool:
    """Whether a file without an image suffix may be DICOM: no dot in its name, or only numbers.

    Hospital archives name files like IM000001, or by the identifier of the image.

    >>> may_be_dicom(b"IM000001"), may_be_dicom(b"1.2.840.113619.2"), may_be_dicom(b"DICOMDIR")
    (True, True, False)
    """
    is_plain = b"." not in name or name.replace(b".", b"").isdigit()
    return is_plain and not name.startswith(b".") and name != b"DICOMDIR"


def is_foreign_folder(name: bytes) -> bool:
    """Whether a folder belongs to an operating system or a tool, not to the pool."""
    return name.startswith(b".") or name in _FOREIGN


def is_image_path(path: bytes) -> bool:
    """Whether a path inside an archive is an image, and not in a foreign folder."""
    *folders, name = path.split(b"/")
    return is_image_name(name) and not any(map(is_foreign_folder, folders))


def may_be_dicom_path(path: bytes) -> bool:
    """Whether a path inside an archive may be DICOM, and is not in a foreign folder.

    >>> [may_be_dicom_path(path) for path in (b"study/IM000001", b"study/", b".git/HEAD")]
    [True, False, False]
    """
    *folders, name = path.split(b"/")
    return bool(name) and may_be_dicom(name) and not any(map(is_foreign_folder, folders))


class Names:
    """Paths in a fixed order, end to end in one block of bytes: a million take about 20 MB."""

    def __init__(self, block: bytes | bytearray, ends: NDArray[np.integer[Any]]) -> None:
        """Name i is `block[ends[i - 1]:ends[i]]`."""
        self._block = block
        kind: type[np.unsignedinteger[Any]] = np.uint32 if len(block) < 2**32 else np.uint64
        self._ends = ends.astype(kind, copy=False)

    @classmethod
    def in_order(cls, paths: Iterable[bytes]) -> "Names":
        """The paths in the order given."""
        block = bytearray()
        ends = _grow_ends(block, paths)
        return cls(block, ends)

    @classmethod
    def sorted(cls, paths: Iterable[bytes]) -> "Names":
        """The paths sorted by length, and those of equal length by their bytes.

        Paths of one length lie end to end in one block, which NumPy sorts in place: no Python
        object is kept for any of them, and the order does not depend on the file system.
        """
        blocks: defaultdict[int, bytearray] = defaultdict(bytearray)
        for path in paths:
            blocks[len(path)] += path
        lengths = sorted(blocks)
        for length in lengths:
            np.frombuffer(blocks[length], dtype=f"S{length}").sort()
        counts = [len(blocks[length]) // length for length in lengths]
        ends = np.cumsum(np.repeat(lengths, counts).astype(np.int64))
        return cls(b"".join(blocks.pop(length) for length in lengths), ends)

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._ends)

    def __getitem__(self, index: int) -> bytes:
        """The name at an index; the index must not be negative."""
        start = int(self._ends[index - 1]) if index else 0
        return bytes(self._block[start : int(self._ends[index])])

    def __iter__(self) -> Iterator[bytes]:
        """All names in their order, without making them all at once."""
        start = 0
        for first in range(0, len(self), _BLOCK):
            for end in self._ends[first : first + _BLOCK].tolist():
                yield bytes(self._block[start:end])
                start = end

    def order(self) -> NDArray[np.int64]:
        """The indices that sort the names as `sorted` does: by length, then by their bytes.

        NumPy can sort in this order without a Python object for each of a million names.

        >>> Names.in_order([b"10.png", b"2.png", b"1.png"]).order().tolist()
        [2, 1, 0]
        """
        if not len(self):
            return np.empty(0, np.int64)
        ends = self._ends.astype(np.int64)
        starts = np.concatenate([[0], ends[:-1]])
        lengths, letters = ends - starts, np.frombuffer(self._block, np.uint8)
        places = np.argsort(lengths, kind="stable")
        for group in np.split(places, np.flatnonzero(np.diff(lengths[places])) + 1):
            length = int(lengths[group[0]])
            words = np.empty((len(group), length), np.uint8)
            for first in range(0, len(group), _BLOCK):
                some = starts[group[first : first + _BLOCK]]
                words[first : first + _BLOCK] = letters[some[:, None] + np.arange(length)]
            # A view of `places`: each length is sorted in place.
            group[:] = group[np.argsort(words.view(f"S{length}").ravel(), kind="stable")]
        return places

    def parts(self) -> tuple[bytes | bytearray, NDArray[np.integer[Any]]]:
        """The block and the ends, the arguments of the constructor."""
        return self._block, self._ends

    def digest(self) -> str:
        """A hex digest of all names in their order."""
        hashed = hashlib.sha256(b"names")
        hashed.update(self._ends.astype("<u8").tobytes())
        hashed.update(self._block)
        return hashed.hexdigest()


def _grow_ends(block: bytearray, paths: Iterable[bytes]) -> NDArray[np.int64]:
    def ends() -> Iterator[int]:
        for path in paths:
            block.extend(path)
            yield len(block)

    return np.fromiter(ends(), dtype=np.int64)


def shown_bytes(name: bytes) -> str:
    """A name as valid text: bytes that are not UTF-8 are written as \\xNN."""
    return name.decode("utf-8", "backslashreplace")


def shown_name(name: str) -> str:
    """A file name from Python as valid text: bytes that are not UTF-8 are written as \\xNN.

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
"""Suffixes of texts that are often stored beside images; they are not counted."""

ARCHIVES = frozenset(b"7z bz2 gz rar tar tgz xz zip zst".split())
ADVICE = {
    b"heic": CONVERT_HEIC,
    b"heif": CONVERT_HEIC.replace("heic", "heif"),
    b"svg": "a drawing: render it to PNG first",
    **dict.fromkeys(
        ARCHIVES, "an archive inside a pool is not opened: unpack it or give it as a pool"
    ),
}
"""Advice about some kinds of files, by their suffix without the dot."""

MOST_KINDS = 1000
N_NAMED = 5
LONGEST_SUFFIX = 12


class PassedOver:
    """The number of files that are not images, without hidden files and plain texts."""

    def __init__(self) -> None:
        """Start with no files."""
        self._counts: Counter[bytes] = Counter()

    def add(self, name: bytes) -> None:
        """Count a file by its name without its folder.

        Images, plain texts, hidden files (their names start with a dot) and files without a suffix
        are not counted.
        """
        stem, dot, suffix = name.rpartition(b".")
        suffix = suffix.lower()
        if not dot or not stem or name.startswith(b".") or suffix in COMPANIONS:
            return
        if not is_image_name(name) and (suffix in self._counts or len(self._counts) < MOST_KINDS):
            self._counts[suffix] += 1

    def add_path(self, path: bytes) -> None:
        """Count a path inside an archive, unless it is in a foreign folder."""
        *folders, name = path.split(b"/")
        if name and not any(map(is_foreign_folder, folders)):
            self.add(name)

    def counts(self) -> dict[str, int]:
        """The number of files by suffix, the most frequent first."""
        order = sorted(self._counts.items(), key=lambda found: (-found[1], found[0]))
        return {shown_bytes(suffix[:LONGEST_SUFFIX]): count for suffix, count in order}

    def notes(self) -> tuple[str, ...]:
        """One sentence about the files that were passed over; empty if there are none."""
        return passed_over_notes(self.counts())


def passed_over_notes(counts: dict[str, int]) -> tuple[str, ...]:
    """One sentence about the files that were passed over; empty if there are none.

    >>> passed_over_notes({"svg": 2, "xyz": 1})[0]
    '3 files were passed over: 2 .svg (a drawing: render it to PNG first), 1 .xyz.'
    """
    if not counts:
        return ()
    named = []
    for suffix, count in list(counts.items())[:N_NAMED]:
        advice = ADVICE.get(suffix.encode())
        named.append(f"{count} .{suffix}" + (f" ({advice})" if advice else ""))
    total, n_more = sum(counts.values()), len(counts) - N_NAMED
    more = f" and {n_more} other kinds" if n_more > 0 else ""
    files = "file was" if total == 1 else "files were"
    return (f"{total} {files} passed over: {', '.join(named)}{more}.",)


NOISE_PREFIX = "noise:"
MIDDLE, EACH = "middle", "each"
"""Of a DICOM file with several frames: one image, or all."""
_OPTIONS = re.compile(r"(.+?)\?(?:frames=(\w+)|label=(.+?)(?:&frames=(\w+))?)", re.DOTALL)


class PathWithOptions(NamedTuple):
    """A path, its column of classes and its choice of frames; None for an absent option."""

    path: Path
    label: str | None
    frames: str | None


def split_options(path: Path) -> PathWithOptions:
    """The path without its options, and the options; a file of the whole name has none."""
    match = _OPTIONS.fullmatch(str(path))
    # Not `Path.exists`, which raises for names that are too long.
    if match is None or os.path.exists(path):  # noqa: PTH110
        return PathWithOptions(path, None, None)
    return PathWithOptions(Path(match[1]), match[3], match[2] or match[4])


def with_frames_option(what: Any, frames: str) -> Any:
    """The path with its choice of frames written out; anything but a path is returned unchanged.

    >>> with_frames_option("scans", "each")
    'scans?frames=each'
    """
    is_path = isinstance(what, str | os.PathLike) and not is_url_or_noise(what)
    if frames == MIDDLE or not is_path:
        return what
    options = split_options(Path(what))
    if options.frames is not None:
        return what
    return f"{what}{'?' if options.label is None else '&'}frames={frames}"


def is_url_or_noise(what: Any) -> bool:
    """Whether a pool is named by a URL or is noise, so that its name is not a path."""
    return isinstance(what, str) and ("://" in what or what.startswith(NOISE_PREFIX))
