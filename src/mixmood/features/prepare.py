"""One image on its way to the backbone: fetched, looked up in the cache, decoded, made square."""

import hashlib
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Picture
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import UnreadableImageError
from mixmood.core.version import package_version
from mixmood.data.images.decode import QUIET, Raw, decode, decode_square, wide_values
from mixmood.data.images.pixel_range import FULL, PixelRange
from mixmood.data.images.pool import ImageSource
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.devices import onnx_runtime

CONSTANT = 1
"""All pixels are equal at the resolution of the backbone."""
POOR_RANGE = 2
"""More than eight bits, and nearly black or nearly white by the range of its pool."""
MOST_WAITING = 4 * 1024**2
"""A thread that has read more bytes decodes them first, so that memory does not grow."""
DECODE_AT_ONCE = -1
"""With this limit, every image is decoded by the thread that reads it."""


@dataclass(slots=True)
class Prepared:
    """An image during extraction; one thread after the other fills in its fields.

    In the end `row` holds its features, or `problem` says why it has none.
    """

    place: int
    """Its position among the images asked for."""
    where: str
    """Its name in messages."""
    key: bytes = b""
    raw: bytes | Picture | None = None
    """The content that is still to be decoded."""
    picture: Picture | None = None
    """The decoded image, resized for the backbone."""
    row: NDArray[np.float32] | None = None
    problem: str | None = None
    flags: int = 0
    """Findings of the decoding: CONSTANT, POOR_RANGE, their sum, or 0."""


class Preparer:
    """Prepares images of one pool for one backbone, from any number of threads.

    Many threads may wait for a disk or a server at once, but only those that hold one of the
    `cores` decode or embed: this bounds the memory, however large the images are.
    """

    def __init__(
        self,
        source: ImageSource,
        backbone: Backbone,
        cache: FeatureCache | None,
        n_cores: int,
        most_waiting: int | None = None,
    ) -> None:
        """Prepare one extraction; a thread keeps at most `most_waiting` bytes undecoded."""
        self._source = source
        self._side = backbone.resolution
        self._width = backbone.width
        self._cache = cache
        self._range = source.pixel_range
        self._space = cache_space(backbone, self._range)
        self._most_waiting = MOST_WAITING if most_waiting is None else most_waiting
        self.cores = threading.BoundedSemaphore(n_cores)

    def read(self, numbered: list[tuple[int, int]]) -> list[Prepared]:
        """The images for pairs of place and index, in this order: fetched and looked up."""
        images: list[Prepared] = []
        waiting: list[Prepared] = []
        n_waiting = 0
        for place, index in numbered:
            waiting.append(image := self._read(place, index))
            n_waiting += n_waiting_bytes(image.raw)
            if n_waiting > self._most_waiting:
                self._look_up(waiting)
                with self.cores:
                    self.decode(waiting)
                images.extend(waiting)
                waiting, n_waiting = [], 0
        self._look_up(waiting)
        return images + waiting

    def decode(self, images: list[Prepared]) -> None:
        """Give each image that is not yet decoded its picture or its problem.

        The caller holds one of the `cores`.
        """
        with QUIET:
            for image in images:
                self._decode(image)

    def _read(self, place: int, index: int) -> Prepared:
        image = Prepared(place, self._source.locate(index))
        try:
            raw = self._source.fetch(index)
            if not isinstance(raw, bytes):
                # An image that is not a file is identified by its pixels.
                with self.cores:
                    image.flags |= self._range_flag(raw, image.where)
                    raw = decode(raw, image.where, pixel_range=self._range)
        except UnreadableImageError as error:
            image.problem = str(error)
            return image
        image.raw = raw
        return image

    def _look_up(self, images: list[Prepared]) -> None:
        """Give each image its key, and those that are in the cache their rows."""
        for image in images:
            if image.raw is not None:
                image.key = content_key(image.raw, self._space)
        if self._cache is None:
            return
        # Many keys at once: each call locks the file of the cache.
        rows = self._cache.get([image.key for image in images if image.key])
        for image in images:
            row = rows.get(image.key)
            # A row of another length cannot be of this backbone, even if its checksum is right.
            if row is not None and len(row) in (self._width, self._width + 1):
                image.row, image.raw = row[: self._width], None
                image.flags |= _flags_of(row[self._width :])

    def _decode(self, image: Prepared) -> None:
        raw, image.raw = image.raw, None
        if raw is None:
            return
        try:
            if isinstance(raw, bytes):
                image.flags |= self._range_flag(raw, image.where)
            image.picture = decode_square(raw, image.where, self._side, self._range)
            is_constant = image.picture.min() == image.picture.max()
            image.flags |= CONSTANT if is_constant else 0
        except UnreadableImageError as error:
            image.problem = str(error)

    def _range_flag(self, raw: Raw, where: str) -> int:
        values = wide_values(raw, where)
        return POOR_RANGE if values is not None and not (self._range or FULL).fits(values) else 0


def kept_row(row: NDArray[np.float32], flags: int) -> NDArray[np.float32]:
    """The row that the cache keeps: the features, and after them the flags if there are any."""
    return np.append(row, np.float32(flags)) if flags else row


def _flags_of(end: NDArray[np.float32]) -> int:
    """The flags at the end of a row of the cache; 0 for any other number."""
    flags = float(end.sum())
    return int(flags) if flags in (CONSTANT, POOR_RANGE, CONSTANT + POOR_RANGE) else 0


def n_waiting_bytes(raw: bytes | Picture | None) -> int:
    """How much memory an image takes while it waits to be decoded."""
    if raw is None:
        return 0
    return len(raw) if isinstance(raw, bytes) else raw.nbytes


def content_key(raw: bytes | Picture, space: bytes) -> bytes:
    """The cache key of an image: a hash of its content, not of its name."""
    if isinstance(raw, bytes):
        return hashlib.blake2b(raw, digest_size=20, key=space, person=b"file").digest()
    state = hashlib.blake2b(digest_size=20, key=space, person=b"pixels")
    state.update(repr(raw.shape).encode())
    state.update(np.ascontiguousarray(raw).data)
    return state.digest()


def cache_space(backbone: Backbone, pixel_range: PixelRange | None = None) -> bytes:
    """The part of a cache key that depends on the network and on versions of libraries.

    Results of another version of a decoder or of ONNX Runtime may differ in the last bits. The
    same command must give the same bytes with an older cache and without it.
    """
    import PIL

    decoders = f"pillow {PIL.__version__} simplejpeg {package_version('simplejpeg')}"
    words = f"{backbone.fingerprint} {decoders} onnxruntime {_runtime_version()}"
    if pixel_range is not None:
        words += f" range {pixel_range.low:g} {pixel_range.high:g}"
    return hashlib.blake2b(words.encode(), digest_size=32).digest()


def _runtime_version() -> str:
    """The version of ONNX Runtime, from its package metadata, so that it need not be loaded."""
    # Builds for other hardware have other package names.
    return package_version("onnxruntime") or str(onnx_runtime().__version__)
