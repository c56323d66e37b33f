"""One image on its way to the backbone: fetched, looked up in the cache, decoded, made square."""

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mixmood.core.arrays import Picture
from mixmood.core.cache import FeatureCache, FeatureRow
from mixmood.core.errors import UnreadableImageError
from mixmood.core.version import package_version
from mixmood.data.images.decode import QUIET, Raw, decode, decode_squares, wide_values
from mixmood.data.images.dicom import is_dicom
from mixmood.data.images.pixel_range import FULL, PixelRange
from mixmood.data.images.pool import ImageSource
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.devices import onnx_runtime
from mixmood.features.backbones.view import HALF, split

CONSTANT = 1  # all pixels are equal at the resolution of the backbone
POOR_RANGE = 2  # more than eight bits, and nearly black or nearly white by the range of its pool
STORE_EVERY = 128  # images whose rows are written at once: a killed process may lose so many,
# and copies of an image are computed again until its row is written
MOST_WAITING = 4 * 1024**2  # a thread that has read more bytes decodes them: memory is bounded


@dataclass(slots=True)
class Seen:
    """What one backbone sees of an image."""

    picture: Picture | None = None  # the decoded image, resized for the backbone
    row: FeatureRow | None = None  # its features: all blocks side by side
    flags: int = 0  # findings of the decoding: CONSTANT, POOR_RANGE, their sum, or 0


@dataclass(slots=True)
class Prepared:
    """An image during extraction: in the end every backbone has a row, or there is a problem."""

    place: int  # its position among the images asked for
    where: str  # its name in messages
    seen: tuple[Seen, ...]  # by each backbone
    digest: bytes = b""  # of its content
    decoders: bytes = b""  # the versions of what decodes it, if it is DICOM
    raw: bytes | Picture | None = None  # the content that is still to be decoded
    problem: str | None = None
    is_poor_range: bool = False

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to compute."""
        return bool(self.problem) or all(one.row is not None for one in self.seen)


class Preparer:
    """Prepares images of one pool for some backbones, from any number of threads.

    Many threads may wait for a disk or a server at once, but only those that hold one of the
    `cores` decode or embed: this bounds the memory, however large the images are.
    """

    def __init__(
        self,
        source: ImageSource,
        backbones: Sequence[Backbone],
        cache: FeatureCache | None,
        n_cores: int,
    ) -> None:
        """Prepare one extraction."""
        self._source, self._cache, self._range = source, cache, source.pixel_range
        self._sides = [backbone.resolution for backbone in backbones]
        self._blocks = [dict(backbone.blocks) for backbone in backbones]
        self._spaces = [cache_space(backbone, self._range) for backbone in backbones]
        # Broken images must be known before a batch is formed that features depend on.
        self._is_eager = any(backbone.is_batch_dependent for backbone in backbones)
        self._unstored, self._n_waiting = dict[bytes, FeatureRow](), 0
        self.cores = threading.BoundedSemaphore(n_cores)

    def read(self, numbered: list[tuple[int, int]]) -> list[Prepared]:
        """The images for pairs of place and index, in this order: fetched and looked up."""
        images: list[Prepared] = []
        waiting: list[Prepared] = []
        for place, index in numbered:
            waiting.append(self._read(place, index))
            raws = (image.raw for image in waiting if image.raw is not None)
            n_bytes = sum(len(raw) if isinstance(raw, bytes) else raw.nbytes for raw in raws)
            if self._is_eager or n_bytes > MOST_WAITING:
                self._look_up(waiting)
                with self.cores:
                    self.decode(waiting)
                images, waiting = images + waiting, []
        self._look_up(waiting)
        return images + waiting

    def decode(self, images: list[Prepared]) -> None:
        """Give each raw image its picture or its problem; the caller holds one of the `cores`."""
        with QUIET:
            for image in images:
                self._decode(image)

    def keep(self, images: list[Prepared]) -> None:
        """Take the rows of images that were embedded; they are written to the cache in groups."""
        if self._cache is None:
            return
        for image in images:
            for number, seen in enumerate(image.seen):
                if seen.row is not None:
                    for name, values in split(seen.row[None], self._blocks[number]).items():
                        key = self._key(image, number, name)
                        self._unstored[key] = kept_row(values[0], name, seen.flags)
        self._n_waiting += len(images)
        if self._n_waiting >= STORE_EVERY:
            self.store()

    def store(self) -> None:
        """Write to the cache the rows that are not yet in it."""
        if self._cache is not None:
            self._cache.put(self._unstored)
        self._unstored, self._n_waiting = {}, 0

    def _key(self, image: Prepared, number: int, block: str) -> bytes:
        """The key in the cache of a block of features, by one of the backbones."""
        words = self._spaces[number] + block.encode()
        return hashlib.blake2b(image.digest + image.decoders + words, digest_size=20).digest()

    def _read(self, place: int, index: int) -> Prepared:
        image = Prepared(place, self._source.locate(index), tuple(Seen() for _ in self._sides))
        try:
            raw = self._source.fetch(index)
            if not isinstance(raw, bytes):
                # An image that is not a file is identified by its pixels.
                with self.cores:
                    image.is_poor_range = self._is_poor_range(raw, image.where)
                    raw = decode(raw, image.where, pixel_range=self._range)
            image.raw = raw
        except UnreadableImageError as error:
            image.problem = str(error)
        return image

    def _look_up(self, images: list[Prepared]) -> None:
        """Give each image its digest, and those that are in the cache their rows."""
        for image in images:
            if image.raw is not None:
                image.digest = content_digest(image.raw)
                image.decoders = dicom_decoders() if is_dicom(image.raw) else b""
        if self._cache is None:
            return
        # Many keys at once: each call locks the file of the cache.
        rows = self._cache.get(
            self._key(image, number, name)
            for image in images
            if image.digest
            for number, blocks in enumerate(self._blocks)
            for name in blocks
        )
        for image in images:
            for number, blocks in enumerate(self._blocks):
                parts = (
                    read_row(rows.get(self._key(image, number, name)), name, width)
                    for name, width in blocks.items()
                )
                found = [part for part in parts if part is not None]
                if len(found) == len(blocks):
                    image.seen[number].row = np.concatenate([row for row, _ in found])
                    image.seen[number].flags = found[0][1]
            if image.is_done:
                image.raw = None

    def _decode(self, image: Prepared) -> None:
        raw, image.raw = image.raw, None
        if raw is None:
            return
        waiting = [number for number, one in enumerate(image.seen) if one.row is None]
        sides = sorted({self._sides[number] for number in waiting})
        try:
            if isinstance(raw, bytes):
                image.is_poor_range = self._is_poor_range(raw, image.where)
            squares = decode_squares(raw, image.where, sides, self._range)
        except UnreadableImageError as error:
            image.problem = str(error)
            return
        for number in waiting:
            seen = image.seen[number]
            seen.picture = squares[sides.index(self._sides[number])]
            is_constant = seen.picture.min() == seen.picture.max()
            seen.flags = CONSTANT * bool(is_constant) + POOR_RANGE * image.is_poor_range

    def _is_poor_range(self, raw: Raw, where: str) -> bool:
        values = wide_values(raw, where)
        return values is not None and not (self._range or FULL).fits(values)


def kept_row(row: FeatureRow, block: str, flags: int) -> FeatureRow:
    """The row that the cache keeps: features, of HALF packed in pairs, then flags if any."""
    kept = row.astype(np.float16).view(np.float32) if block in HALF else row
    return np.append(kept, np.float32(flags)) if flags else kept


def read_row(kept: FeatureRow | None, block: str, width: int) -> tuple[FeatureRow, int] | None:
    """Features and flags of a row of the cache; None if its length is not that of the block."""
    n_kept = width // 2 if block in HALF else width
    if kept is None or len(kept) not in (n_kept, n_kept + 1):
        return None
    row, flags = kept[:n_kept], float(kept[n_kept:].sum())
    is_known = flags in (CONSTANT, POOR_RANGE, CONSTANT + POOR_RANGE)
    features = row.view(np.float16).astype(np.float32) if block in HALF else row
    return features, int(flags) if is_known else 0


def content_digest(raw: bytes | Picture) -> bytes:
    """A hash of the content of an image, not of its name."""
    if isinstance(raw, bytes):
        return hashlib.blake2b(raw, digest_size=20, person=b"file").digest()
    state = hashlib.blake2b(digest_size=20, person=b"pixels")
    state.update(repr(raw.shape).encode())
    state.update(np.ascontiguousarray(raw).data)
    return state.digest()


def cache_space(backbone: Backbone, pixel_range: PixelRange | None = None) -> bytes:
    """The part of a cache key that depends on the network and on versions of libraries."""
    import PIL

    # The same command must give the same bytes with an older cache and without it: results of
    # another version of a decoder or of ONNX Runtime may differ in the last bits.
    words = f"{backbone.fingerprint} pillow {PIL.__version__} onnxruntime {runtime_version()}"
    if pixel_range is not None:
        words += f" range {pixel_range.low:g} {pixel_range.high:g}"
    return hashlib.blake2b(words.encode(), digest_size=32).digest()


def dicom_decoders() -> bytes:
    """The versions of pydicom and of the decoders that it uses; images of Pillow need none."""
    names = ("pydicom", "pylibjpeg-libjpeg", "pylibjpeg-openjpeg", "python-gdcm")
    return " ".join(map(str, map(package_version, names))).encode()


def runtime_version() -> str:
    """The version of ONNX Runtime, from its package metadata, so that it need not be loaded."""
    # Builds for other hardware have other package names.
    return package_version("onnxruntime") or str(onnx_runtime().__version__)
