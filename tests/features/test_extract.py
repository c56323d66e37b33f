"""Extraction from pools: order, broken images, batches, threads and what is refused."""

import os
import signal
import threading
import time
import zlib

import numpy as np
import pytest
from tests.fixtures.counted_pool import BatchMeans, Means, Pool, encoded, extract

from mixmood.core.errors import OptionError
from mixmood.features import prepare
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.extract import threads


def test_rows_come_in_the_order_asked_for_and_only_those_images_are_read(pool):
    indices = [7, 3, 49, 7, 0]
    result = extract(pool, indices, Means())
    assert result.rows.tolist() == indices
    assert pool.n_fetched == 5
    every = extract(pool, range(50), Means()).features
    assert np.array_equal(result.features, every[indices])
    assert result.unreadable == ()


def test_no_indices_give_no_rows(pool):
    result = extract(pool, [], Means())
    assert result.features.shape == (0, 3)
    assert len(result.rows) == 0


def test_broken_and_vanished_images_are_left_out_and_named(pool):
    pool.images[3] = None
    pool.images[20] = b"not an image"
    pool.images[21] = b""
    pool.images[40] = pool.images[40][:60]
    result = extract(pool, range(50), Means(), jobs=3)
    assert [index for index, _ in result.unreadable] == [3, 20, 21, 40]
    assert result.unreadable[0][1] == "image 3: gone."
    assert "image 20" in result.unreadable[1][1]
    assert result.rows.tolist() == [i for i in range(50) if i not in {3, 20, 21, 40}]
    assert result.features.shape == (46, 3)


def test_a_pool_of_broken_images_gives_no_rows():
    result = extract(Pool([b"x"] * 5), range(5), Means())
    assert result.features.shape == (0, 3)
    assert len(result.unreadable) == 5


def test_images_of_extreme_shapes_are_embedded():
    one = np.full((1, 1, 3), 77, np.uint8)
    long = np.full((1, 30_000, 3), 77, np.uint8)
    result = extract(Pool([encoded(one), encoded(long), one, long]), range(4), Means())
    assert np.array_equal(result.features, np.full((4, 3), 77, np.float32))


@pytest.mark.parametrize(
    ("side", "told"),
    [
        (13_300, "13300 x 13300 pixels are more than the 175000000 an image may have."),
        (40_000, "Image size (1600000000 pixels) exceeds limit of "),
    ],
)
def test_a_decompression_bomb_is_unreadable_and_says_its_size(side, told):
    plain = encoded(np.zeros((1, 1, 3), np.uint8))
    head = b"IHDR" + side.to_bytes(4, "big") * 2 + plain[24:29]
    bomb = plain[:12] + head + zlib.crc32(head).to_bytes(4, "big") + plain[33:]
    ((_, message),) = extract(Pool([bomb]), [0], Means()).unreadable
    assert f"image 0: cannot be decoded: {told}" in message


def test_the_number_of_threads_changes_no_bit(pool):
    pool.images[11] = None
    backbone = load_backbone(resolution=64)
    one = extract(pool, range(50), backbone, jobs=1)
    for jobs in (2, 5):
        other = extract(pool, range(50), backbone, jobs=jobs)
        assert np.array_equal(one.features, other.features)
        assert one.unreadable == other.unreadable


def test_features_that_depend_on_the_batch_come_from_the_same_batches_whatever_the_threads(pool):
    pool.images[5] = b"broken"
    pool.images[6] = None
    one, four = BatchMeans(), BatchMeans()
    assert np.array_equal(
        extract(pool, range(50), one, jobs=1).features,
        extract(pool, range(50), four, jobs=4).features,
    )
    assert one.batches == [4] * 12, "48 readable images"


def test_a_short_last_batch_is_filled_with_the_images_before_it(pool):
    backbone = BatchMeans()
    features = extract(pool, range(6), backbone, jobs=1).features
    assert backbone.batches == [4, 4]
    means = extract(pool, range(6), Means()).features
    assert np.allclose(features[:4], means[:4] - means[:4].mean(axis=0), atol=1e-4)
    assert np.allclose(features[4:], means[4:] - means[2:].mean(axis=0), atol=1e-4)


def test_a_slow_backbone_stops_the_readers(pictures):
    """Otherwise a pool of a million large photos would gather in memory."""
    pool = Pool([encoded(pictures[0])] * 1000)
    may_go_on = threading.Event()

    class Slow(Means):
        def embed(self, batch):
            may_go_on.wait(30)
            return super().embed(batch)

    result = []
    thread = threading.Thread(
        target=lambda: result.append(extract(pool, range(1000), Slow(), jobs=2))
    )
    thread.start()
    before = -1
    while before != (before := pool.n_fetched):
        threading.Event().wait(0.3)
    assert 0 < before <= 300
    may_go_on.set()
    thread.join()
    assert len(result[0]) == 1000


def test_large_files_are_not_kept_while_they_wait(rng, monkeypatch):
    """A large file is decoded by its reader: only its small square waits for the backbone."""

    monkeypatch.setattr(prepare, "MOST_WAITING", 100)
    large = encoded(rng.integers(0, 256, size=(40, 40, 3), dtype=np.uint8))
    preparer = prepare.Preparer(Pool([large, large[:200]]), [Means()], None, n_cores=1)
    good, broken = preparer.read([(0, 0), (1, 1)])
    assert good.raw is None
    assert good.seen[0].picture.shape == (64, 64, 3)
    assert broken.raw is None
    assert "image 1" in broken.problem


def test_no_more_threads_compute_than_asked_for(monkeypatch, pool):
    """Readers that decode and workers that embed share the cores."""
    busy, most_busy, lock = 0, 0, threading.Lock()

    def counted(function):
        def call(*arguments):
            nonlocal busy, most_busy
            with lock:
                busy += 1
                most_busy = max(most_busy, busy)
            time.sleep(0.002)
            try:
                return function(*arguments)
            finally:
                with lock:
                    busy -= 1

        return call

    backbone = Means()
    backbone.embed = counted(backbone.embed)
    monkeypatch.setattr(prepare, "decode_squares", counted(prepare.decode_squares))
    monkeypatch.setattr(prepare, "MOST_WAITING", 0)
    extract(pool, range(50), backbone, jobs=2)
    assert most_busy == 2


def test_ctrl_c_while_threads_are_waited_for_comes_when_they_have_ended():
    ended = []

    def work():
        time.sleep(0.2)  # until the other thread waits
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt), threads(1) as pool:
        pool.submit(work)
    assert ended


def test_progress_counts_every_image_once(pool):
    class Listener:
        def __init__(self):
            self.heard = []

        def start(self, task, total):
            self.heard.append((task, total))

        def advance(self, task, steps=1):
            self.heard.append(steps)

        def finish(self, task):
            self.heard.append(task)

    pool.images[9] = None
    listener = Listener()
    extract(pool, range(50), Means(), listener=listener)
    assert listener.heard[0] == ("pool", 50)
    assert sum(listener.heard[1:-1]) == 50
    assert listener.heard[-1] == "pool"


@pytest.mark.parametrize("jobs", [0, -1])
def test_fewer_than_one_thread_is_refused(pool, jobs):
    with pytest.raises(OptionError, match=f"jobs must be at least 1; got {jobs}"):
        extract(pool, [0], Means(), jobs=jobs)
