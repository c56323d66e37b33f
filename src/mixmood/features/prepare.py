"""One image on its way to the backbone: fetched, looked up in the cache, decoded, made square."""

import hashlib
import threading
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Picture
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import UnreadableImageError
from mixmood.data.decode import decode, decode_square
from mixmood.data.source import ImageSource
from mixmood.features.backbone import Backbone

LARGE_BYTES = 256 * 1024
"""A file beyond this is decoded by the thread that read it, so that such files do not pile up."""


@dataclass(frozen=True)
class Prepared:
    """An image on its way.

    Exactly one is there of `raw` (still to be decoded), `picture` (a square for the backbone),
    `row` (its features were in the cache) and `problem` (it cannot be read).
    """

    place: int
    """Its position among the images asked for."""
    where: str
    """What to call it in a message."""
    key: bytes = b""
    raw: bytes | Picture | None = None
    picture: Picture | None = None
    row: NDArray[np.float32] | None = None
    problem: str | None = None


class Preparer:
    """Prepares images of one pool for one backbone, from any number of threads.

    Many threads may wait for a disk or a server at once, but at most `n_decoders` decode: memory
    stays flat however large the images are.
    """

    def __init__(
        self, source: ImageSource, backbone: Backbone, cache: FeatureCache | None, n_decoders: int
    ) -> None:
        """Prepare for one extraction; a backbone that looks at the whole batch gets no cache."""
        self._source = source
        self._side = backbone.resolution
        self._cache = None if backbone.is_batch_dependent else cache
        self._space = cache_space(backbone)
        # Where companions matter, the broken ones must be known before batches are formed.
        self._n_patient_bytes = -1 if backbone.is_batch_dependent else LARGE_BYTES
        self._decoding = threading.BoundedSemaphore(n_decoders)

    def read(self, numbered: list[tuple[int, int]]) -> list[Prepared]:
        """The images for pairs of place and index, in this order: fetched and looked up."""
        return [self._read(place, index) for place, index in numbered]

    def decode(self, images: list[Prepared]) -> list[Prepared]:
        """The same images, each with its square picture or its problem."""
        return [image if image.raw is None else self._decode(image) for image in images]

    def _read(self, place: int, index: int) -> Prepared:
        where = self._source.locate(index)
        try:
            raw = self._source.fetch(index)
            if not isinstance(raw, bytes):
                # What is not a file has its content in its pixels.
                with self._decoding:
                    raw = decode(raw, where)
        except UnreadableImageError as error:
            return Prepared(place, where, problem=str(error))
        image = self._look_up(Prepared(place, where, raw=raw))
        return self._decode(image) if n_bytes(image) > self._n_patient_bytes else image

    def _look_up(self, image: Prepared) -> Prepared:
        if self._cache is None or image.raw is None:
            return image
        key = content_key(image.raw, self._space)
        row = self._cache.get([key]).get(key)
        return replace(image, key=key, row=row, raw=image.raw if row is None else None)

    def _decode(self, image: Prepared) -> Prepared:
        if image.raw is None:
            return image
        try:
            with self._decoding:
                picture = decode_square(image.raw, image.where, self._side)
            return replace(image, raw=None, picture=picture)
        except UnreadableImageError as error:
            return replace(image, raw=None, problem=str(error))


def n_bytes(image: Prepared) -> int:
    """How much memory the image takes while it waits to be decoded."""
    if image.raw is None:
        return 0
    return len(image.raw) if isinstance(image.raw, bytes) else image.raw.nbytes


def content_key(raw: bytes | Picture, space: bytes) -> bytes:
    """The hash under which the features of an image are kept: its content, never its name."""
    if isinstance(raw, bytes):
        return hashlib.blake2b(raw, digest_size=20, key=space, person=b"file").digest()
    state = hashlib.blake2b(digest_size=20, key=space, person=b"pixels")
    state.update(repr(raw.shape).encode())
    state.update(np.ascontiguousarray(raw).data)
    return state.digest()


def cache_space(backbone: Backbone) -> bytes:
    """What keeps apart the features of different networks, and of different libraries.

    Another version of Pillow or ONNX Runtime may differ in the last bits. The same command shall
    give the same bytes whether or not an older cache was there.
    """
    import onnxruntime
    import PIL

    words = f"{backbone.fingerprint} pillow {PIL.__version__} onnxruntime {onnxruntime.__version__}"
    return hashlib.blake2b(words.encode(), digest_size=32).digest()
