"""From a pool and indices to features: images are read, prepared and embedded concurrently.

    reading threads   fetch -> hash -> cache (large files: -> decode -> resize)
    this thread       collects full batches of the images that were not in the cache
    working threads   decode -> resize -> backbone, one batch each
    this thread       puts the rows in order and into the cache

Both queues between threads are bounded, so memory does not grow with the pool. Pillow and ONNX
Runtime release the interpreter lock while they work, so threads are enough. Decoding and inference
are in the same thread because both need a core: with separate stages, threads waited for the
interpreter. No more threads decode or embed than there are cores to use.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Rows
from mixmood.core.cache import FeatureCache
from mixmood.core.interrupt import uninterrupted
from mixmood.core.listener import Listener, Silent
from mixmood.data.images.pool import ImageSource
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.prepare import CONSTANT, DECODE_AT_ONCE, POOR_RANGE, Prepared, Preparer
from mixmood.jobs.local import checked_jobs

STORE_EVERY = 128
"""Rows that are written to the cache at once: a killed process may lose so many."""

Features = NDArray[np.float32]


@dataclass(frozen=True)
class Extraction:
    """Features of the readable images among those asked for, and why others are missing."""

    features: Features
    """All blocks of the backbone side by side, shape (k, d), row i for image kept[i]."""
    kept: NDArray[np.int64]
    """The indices that were readable, in the order asked for."""
    unreadable: list[tuple[int, str]]
    """The index of each image that could not be read, and why."""
    n_cached: int
    n_computed: int
    contents: tuple[bytes, ...]
    """A digest of the content of each kept image: equal images have equal digests."""
    n_constant: int
    """How many kept images have one value in all pixels."""
    n_poor_range: int
    """How many kept images of more than 8 bits are nearly black or white by the pool's range."""


class Collector:
    """Puts rows, which come in any order, in the order asked for, and into the cache."""

    def __init__(
        self,
        asked: NDArray[np.int64],
        backbones: Sequence[Backbone],
        cache: FeatureCache | None,
        preparer: Preparer,
        advance: Callable[[int], None],
    ) -> None:
        """Begin without rows; `advance` is called with the number of images done."""
        self._asked, n_asked = asked, len(asked)
        widths = [sum(backbone.blocks.values()) for backbone in backbones]
        self._features = [np.empty((n_asked, width), np.float32) for width in widths]
        self._is_kept = np.zeros(n_asked, bool)
        self._flags = np.zeros((len(backbones), n_asked), np.uint8)
        self._contents: list[bytes] = [b""] * n_asked
        self._problems: dict[int, str] = {}
        self._cache, self._preparer, self._advance = cache, preparer, advance
        self._unstored: dict[bytes, Features] = {}
        self._n_cached = self._n_unstored = 0

    def waiting(self, read: Iterable[list[Prepared]]) -> Iterator[Prepared]:
        """The images that a backbone has to embed; the others are recorded as done."""
        for chunk in read:
            done = [image for image in chunk if image.is_done]
            self._n_cached += sum(not image.problem for image in done)
            self._note(done)
            yield from (image for image in chunk if not image.is_done)

    def take(self, images: list[Prepared]) -> None:
        """Record images that were embedded; their rows are written to the cache in groups."""
        self._note(images)
        if self._cache is not None:
            for image in images:
                self._unstored |= {} if image.problem else self._preparer.stored(image)
            self._n_unstored += len(images)
            if self._n_unstored >= STORE_EVERY:
                self.store()

    def store(self) -> None:
        """Write to the cache the rows that are not yet in it."""
        if self._cache is not None:
            self._cache.put(self._unstored)
        self._unstored, self._n_unstored = {}, 0

    def results(self) -> tuple[Extraction, ...]:
        """All rows by each backbone, without those of unreadable images."""
        kept, n_kept = self._asked[self._is_kept], int(self._is_kept.sum())
        # Sorted by place: the result must not depend on the order of the threads.
        unreadable = [(int(self._asked[i]), text) for i, text in sorted(self._problems.items())]
        contents = tuple(self._contents[place] for place in np.flatnonzero(self._is_kept).tolist())
        is_whole = n_kept == len(self._asked)
        return tuple(
            Extraction(
                features if is_whole else features[self._is_kept],
                kept,
                unreadable,
                self._n_cached,
                n_kept - self._n_cached,
                contents,
                n_constant=int((flags[self._is_kept] & CONSTANT > 0).sum()),
                n_poor_range=int((flags[self._is_kept] & POOR_RANGE > 0).sum()),
            )
            for features, flags in zip(self._features, self._flags, strict=True)
        )

    def _note(self, images: list[Prepared]) -> None:
        for image in images:
            if image.problem:
                self._problems[image.place] = image.problem
                continue
            for number, seen in enumerate(image.seen):
                self._features[number][image.place] = seen.row
                self._flags[number, image.place] = seen.flags
            self._is_kept[image.place] = True
            self._contents[image.place] = image.digest
        if images:
            self._advance(len(images))


In = TypeVar("In")
Out = TypeVar("Out")


def ordered_map(
    pool: Executor, function: Callable[[In], Out], items: Iterable[In], ahead: int
) -> Iterator[Out]:
    """Results in the order of the items, with at most `ahead` of them begun and not yet taken.

    `Executor.map` would take all items at once; here a slow consumer stops the producers.

    >>> with ThreadPoolExecutor(2) as pool:
    ...     list(ordered_map(pool, abs, [-1, 2, -3], ahead=2))
    [1, 2, 3]
    """
    begun: deque[Future[Out]] = deque()
    for item in items:
        begun.append(pool.submit(function, item))
        if len(begun) >= ahead:
            yield begun.popleft().result()
    while begun:
        yield begun.popleft().result()


def batched_by(items: Iterable[In], size: int) -> Iterator[list[In]]:
    """Lists of `size` items, the last one shorter.

    >>> list(batched_by([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


CHUNK = 16
"""Images that one reading thread takes at a time."""
READERS = 4
"""Reading threads for each working thread: they mostly wait for disks and servers."""


def extract(
    source: ImageSource,
    indices: Sequence[int] | Rows,
    backbone: Backbone,
    *,
    jobs: int | None = None,
    cache: FeatureCache | None = None,
    progress: Listener = Silent(),  # noqa: B008 - it holds no state
) -> Extraction:
    """The features of some images of a pool; see `extract_each`."""
    return extract_each(source, indices, [backbone], jobs=jobs, cache=cache, progress=progress)[0]


def extract_each(
    source: ImageSource,
    indices: Sequence[int] | Rows,
    backbones: Sequence[Backbone],
    *,
    jobs: int | None = None,
    cache: FeatureCache | None = None,
    progress: Listener = Silent(),  # noqa: B008 - it holds no state
) -> tuple[Extraction, ...]:
    """The features of some images of a pool by each backbone; only these images are read, once.

    The values depend on neither `jobs` nor the cache nor the other backbones, to the last bit.

    Args:
        indices: The images wanted, in the order wanted.
        backbones: The networks that compute the features; only one may depend on the batch, alone.
        jobs: Working threads; all cores that the process may use if None.
        progress: Called after every image, with the name of the pool.
    """
    asked = np.asarray(indices, dtype=np.int64)
    order, most_waiting = source.reading_order(asked), None
    is_batch = any(backbone.is_batch_dependent for backbone in backbones)
    if is_batch:
        # These features would change if images came class by class, and broken images must be
        # known before a batch is formed.
        order, most_waiting, cache = np.arange(len(asked)), DECODE_AT_ONCE, None
    n_workers = checked_jobs(jobs)
    n_readers = READERS * n_workers
    batch_size = max(backbone.batch_size for backbone in backbones)
    preparer = Preparer(source, backbones, cache, n_workers, most_waiting)
    advance = partial(progress.advance, source.name)
    collector = Collector(asked, backbones, cache, preparer, advance)

    def work(batch: tuple[list[Prepared], list[Prepared]]) -> list[Prepared]:
        companions, images = batch
        with preparer.cores:
            preparer.decode(images)
            for number, backbone in enumerate(backbones):
                embed_batch(backbone, number, companions, images)
        return images

    progress.start(source.name, len(asked))
    try:
        with threads(n_readers) as readers, threads(n_workers) as workers:
            chunks = batched_by(zip(order.tolist(), asked[order].tolist(), strict=True), CHUNK)
            read = ordered_map(readers, preparer.read, chunks, ahead=n_readers + 1)
            batches = batched_by(collector.waiting(read), batch_size)
            complete = with_companions(batches, batch_size if is_batch else 0)
            for images in ordered_map(workers, work, complete, ahead=2 * n_workers):
                collector.take(images)
    finally:
        # Also after Ctrl-C: computed features are kept.
        collector.store()
        progress.finish(source.name)
    return collector.results()


@contextmanager
def threads(n_threads: int) -> Iterator[ThreadPoolExecutor]:
    """A thread pool; at the end or on an error, waiting calls are cancelled, running ones end."""
    pool = ThreadPoolExecutor(n_threads)
    try:
        yield pool
    finally:
        # Before Python 3.13, Ctrl-C during the wait makes running threads count as finished.
        with uninterrupted():
            pool.shutdown(cancel_futures=True)


def with_companions(batches: Iterable[list[In]], size: int) -> Iterator[tuple[list[In], list[In]]]:
    """Each batch, with as many earlier items as it lacks to its full size.

    For backbones whose features depend on the batch: the statistics of a short last batch would
    make its features unlike the others.

    >>> list(with_companions([[1, 2, 3], [4]], size=3))
    [([], [1, 2, 3]), ([2, 3], [4])]
    """
    before: list[In] = []
    for batch in batches:
        n_missing = max(0, size - len(batch))
        yield before[len(before) - n_missing :] if before else [], batch
        before = batch


def embed_batch(
    backbone: Backbone, number: int, companions: list[Prepared], images: list[Prepared]
) -> None:
    """Give each decoded image its row by one backbone, in one batch with the companions."""
    waiting = [image.seen[number] for image in images if image.seen[number].picture is not None]
    before = [image.seen[number] for image in companions]
    pictures = [seen.picture for seen in (*before, *waiting) if seen.picture is not None]
    if waiting:
        rows = backbone.embed(np.stack(pictures))[len(pictures) - len(waiting) :]
        for seen, row in zip(waiting, rows, strict=True):
            seen.row = row
