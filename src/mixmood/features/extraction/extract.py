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

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.cache.features import FeatureCache
from mixmood.core.cores import checked_jobs
from mixmood.core.interrupt import uninterrupted
from mixmood.core.listener import Listener, Silent
from mixmood.data.images.pool import ImageSource
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.extraction.collect import Collector, Extraction
from mixmood.features.extraction.pipeline import batched_by, ordered_map
from mixmood.features.extraction.prepare import Prepared, Preparer

CHUNK = 16
"""Images that one reading thread takes at a time."""
READERS = 4
"""Reading threads for each working thread: they mostly wait for disks and servers."""

T = TypeVar("T")


def extract(
    source: ImageSource,
    indices: Sequence[int] | Rows,
    backbone: Backbone,
    *,
    jobs: int | None = None,
    cache: FeatureCache | None = None,
    progress: Listener = Silent(),  # noqa: B008 - it holds no state
) -> Extraction:
    """The features of some images of a pool; only these images are read.

    The values depend on neither `jobs` nor the cache, to the last bit.

    Args:
        source: The pool.
        indices: The images wanted, in the order wanted.
        backbone: The network that computes the features.
        jobs: Working threads; all cores that the process may use if None.
        cache: Where features are looked up and kept; None for no cache.
        progress: Called after every image, with the name of the pool.
    """
    asked = np.asarray(indices, dtype=np.int64)
    # Features that depend on the batch would change if images came class by class.
    is_sorted = not backbone.is_batch_dependent
    order = source.reading_order(asked) if is_sorted else np.arange(len(asked))
    n_workers = checked_jobs(jobs)
    n_readers = READERS * n_workers
    preparer = Preparer(source, backbone, cache, n_cores=n_workers)
    collector = Collector(asked, backbone, cache, lambda n: progress.advance(source.name, n))

    def work(batch: tuple[list[Prepared], list[Prepared]]) -> list[Prepared]:
        companions, images = batch
        with preparer.cores:
            preparer.decode(images)
            embed_batches(backbone, companions, images)
        return images

    progress.start(source.name, len(asked))
    try:
        with threads(n_readers) as readers, threads(n_workers) as workers:
            chunks = batched_by(zip(order.tolist(), asked[order].tolist(), strict=True), CHUNK)
            read = ordered_map(readers, preparer.read, chunks, ahead=n_readers + 1)
            batches = batched_by(collector.waiting(read), backbone.batch_size)
            n_companions = backbone.batch_size if backbone.is_batch_dependent else 0
            complete = with_companions(batches, n_companions)
            for images in ordered_map(workers, work, complete, ahead=2 * n_workers):
                collector.take(images)
    finally:
        # Also after Ctrl-C: computed features are kept.
        collector.store()
        progress.finish(source.name)
    return collector.result()


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


def with_companions(batches: Iterable[list[T]], size: int) -> Iterator[tuple[list[T], list[T]]]:
    """Each batch, with as many earlier items as it lacks to its full size.

    For backbones whose features depend on the batch: the statistics of a short last batch would
    make its features unlike the others.

    >>> list(with_companions([[1, 2, 3], [4]], size=3))
    [([], [1, 2, 3]), ([2, 3], [4])]
    """
    before: list[T] = []
    for batch in batches:
        n_missing = max(0, size - len(batch))
        yield before[len(before) - n_missing :] if before else [], batch
        before = batch


def embed_batches(backbone: Backbone, companions: list[Prepared], images: list[Prepared]) -> None:
    """Give each decoded image its features, in one batch with the companions."""
    seen = [image for image in images if image.picture is not None]
    pictures = [image.picture for image in (*companions, *seen) if image.picture is not None]
    if seen:
        rows = backbone.embed(np.stack(pictures))[len(pictures) - len(seen) :]
        for image, row in zip(seen, rows, strict=True):
            image.row = row
