"""From a pool and indices to features: images are read, prepared and embedded concurrently.

    reading threads   fetch -> hash -> cache (large files: -> decode -> resize)
    this thread       collects full batches of the images that were not in the cache
    working threads   decode -> resize -> backbone, one batch each
    this thread       puts the rows in order and into the cache

Both queues between threads are bounded, so memory does not grow with the pool. Decoding and
inference are in the same thread because both need a core: with separate stages, threads waited for
the interpreter. No more threads decode or embed than there are cores to use.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import compress, islice
from typing import TypeVar

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.cache import FeatureCache
from mixmood.core.interrupt import uninterrupted
from mixmood.core.listener import Listener, Silent
from mixmood.data.images.pool import FeatureSource, ImageSource, Pool
from mixmood.features.backbones.backbone import Backbone, needed_backbone
from mixmood.features.backbones.view import BOTH, LAST, BackboneView, View, split
from mixmood.features.prepare import CONSTANT, POOR_RANGE, Prepared, Preparer
from mixmood.features.sample import Sample
from mixmood.jobs.local import checked_jobs


class Collector:
    """Puts rows, which come in any order, in the order asked for, and into the cache."""

    def __init__(
        self, asked: Rows, backbones: Sequence[Backbone], advance: Callable[[int], None]
    ) -> None:
        """Begin without rows; `advance` is called with the number of images done."""
        self._asked, self._backbones, n_asked = asked, backbones, len(asked)
        widths = [sum(backbone.blocks.values()) for backbone in backbones]
        self._features = [np.empty((n_asked, width), np.float32) for width in widths]
        self._is_kept = np.zeros(n_asked, bool)
        self._flags = np.zeros((len(backbones), n_asked), np.uint8)
        self._digests: list[bytes] = [b""] * n_asked
        self._problems: dict[int, str] = {}
        self._advance = advance

    def waiting(self, read: Iterable[list[Prepared]]) -> Iterator[Prepared]:
        """The images that a backbone has to embed; the others are recorded as done."""
        for chunk in read:
            self.note([image for image in chunk if image.is_done])
            yield from (image for image in chunk if not image.is_done)

    def samples(self, pool: ImageSource) -> tuple[Sample, ...]:
        """All rows by each backbone, without those of unreadable images."""
        is_kept, is_whole = self._is_kept, bool(self._is_kept.all())
        # Sorted by place: the result must not depend on the order of the threads.
        problems = [(int(self._asked[i]), text) for i, text in sorted(self._problems.items())]
        return tuple(
            Sample(
                pool,
                self._asked[is_kept],
                split(features if is_whole else features[is_kept], backbone.blocks),
                n_tried=len(self._asked),
                unreadable=tuple(problems),
                n_constant=int(np.count_nonzero(flags & CONSTANT)),
                n_poor_range=int(np.count_nonzero(flags & POOR_RANGE)),
                depth=backbone.depth,
                digests=tuple(compress(self._digests, is_kept)),
                is_batch_dependent=backbone.is_batch_dependent,
            )
            for backbone, features, flags in zip(
                self._backbones, self._features, self._flags, strict=True
            )
        )

    def note(self, images: list[Prepared]) -> None:
        """Record images that are done."""
        for image in images:
            if image.problem:
                self._problems[image.place] = image.problem
                continue
            for number, seen in enumerate(image.seen):
                self._features[number][image.place] = seen.row
                self._flags[number, image.place] = seen.flags
            self._is_kept[image.place] = True
            self._digests[image.place] = image.digest
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


CHUNK = 16  # images that one reading thread takes at a time
READERS = 4  # reading threads for each working thread: they mostly wait for disks and servers


@dataclass(frozen=True)
class Extractor:
    """Reads the features of images: the only way from a pool to features."""

    backbone: Backbone | None  # None if all pools hold features
    jobs: int | None = None  # working threads; all cores that the process may use if None
    cache: FeatureCache | None = None
    listener: Listener = Silent()  # noqa: RUF009 - it holds no state

    def read(self, pool: Pool, rows: Sequence[int] | Rows | None = None) -> Sample:
        """The readable images among `rows`, in this order; all of the pool if None."""
        asked = np.asarray(np.arange(len(pool)) if rows is None else rows, dtype=np.int64)
        if isinstance(pool, FeatureSource):
            self.listener.start(pool.name, len(asked))
            features = np.asarray(pool.features(asked))
            self.listener.advance(pool.name, len(asked))
            self.listener.finish(pool.name)
            return Sample(pool, asked, {LAST: features}, len(asked))
        return self.read_each([needed_backbone(self.backbone, pool)], pool, asked)[0]

    def read_views(
        self,
        networks: Mapping[str, Backbone],
        candidates: Sequence[BackboneView],
        pool: ImageSource,
        rows: Sequence[int] | Rows,
    ) -> dict[BackboneView, Sample]:
        """One sample by each candidate, whose network it names, of the same images read once."""
        depths: dict[tuple[str, int], str] = {}
        for one in candidates:
            place = one.backbone, one.view.resolution
            depths[place] = BOTH if place in depths else one.view.depth
        wanted = [networks[name].at(View(side, depth)) for (name, side), depth in depths.items()]
        samples = dict(zip(depths, self.read_each(wanted, pool, rows), strict=True))
        return {
            one: samples[one.backbone, one.view.resolution].at(one.view.depth) for one in candidates
        }

    def nothing(self, pool: Pool) -> Sample:
        """A sample of no image of the pool, to which samples can be added."""
        if isinstance(pool, FeatureSource):
            widths, depth = {LAST: pool.width}, LAST
        else:
            backbone = needed_backbone(self.backbone, pool)
            widths, depth = backbone.blocks, backbone.depth
        blocks = {name: np.empty((0, width), np.float32) for name, width in widths.items()}
        return Sample(pool, np.empty(0, np.int64), blocks, n_tried=0, depth=depth)

    def read_each(
        self, backbones: Sequence[Backbone], pool: ImageSource, rows: Sequence[int] | Rows
    ) -> tuple[Sample, ...]:
        """One sample by each backbone, of the same images: each is read and decoded once.

        The values depend on neither `jobs` nor the cache nor the other backbones, to the last bit.
        Only one backbone may depend on the batch, alone.
        """
        asked = np.asarray(rows, dtype=np.int64)
        order, cache = pool.reading_order(asked), self.cache
        is_batch = any(backbone.is_batch_dependent for backbone in backbones)
        if is_batch:
            # These features would change if images came class by class.
            order, cache = np.arange(len(asked)), None
        n_workers = checked_jobs(self.jobs)
        n_readers = READERS * n_workers
        batch_size = max(backbone.batch_size for backbone in backbones)
        preparer = Preparer(pool, backbones, cache, n_workers)
        collector = Collector(asked, backbones, partial(self.listener.advance, pool.name))

        def work(batch: tuple[list[Prepared], list[Prepared]]) -> list[Prepared]:
            companions, images = batch
            with preparer.cores:
                preparer.decode(images)
                for number, backbone in enumerate(backbones):
                    embed_batch(backbone, number, companions, images)
            return images

        self.listener.start(pool.name, len(asked))
        try:
            with threads(n_readers) as readers, threads(n_workers) as workers:
                chunks = batched_by(zip(order.tolist(), asked[order].tolist(), strict=True), CHUNK)
                read = ordered_map(readers, preparer.read, chunks, ahead=n_readers + 1)
                batches = batched_by(collector.waiting(read), batch_size)
                complete = with_companions(batches, batch_size if is_batch else 0)
                for images in ordered_map(workers, work, complete, ahead=2 * n_workers):
                    collector.note(images)
                    preparer.keep(images)
        finally:
            # Also after Ctrl-C: computed features are kept.
            preparer.store()
            self.listener.finish(pool.name)
        return collector.samples(pool)


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

    For features that depend on the batch: a short last one has other statistics.

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
