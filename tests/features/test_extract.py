"""Extraction from pools: order, broken images, the cache, threads and interruption."""

import io
import signal
import subprocess
import sys
import threading
import zlib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mixmood.core.cache import FeatureCache
from mixmood.core.errors import OptionError, UnreadableImageError
from mixmood.data.folder import FolderSource
from mixmood.data.source import ImageSource
from mixmood.features import prepare
from mixmood.features.extract import extract
from mixmood.features.table import load_backbone


def encoded(picture, format="PNG"):
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format=format)
    return buffer.getvalue()


class Pool(ImageSource):
    """Images in memory, as files or arrays; None is one that vanished."""

    name = "pool"
    fingerprint = "0"

    def __init__(self, images):
        self.images = images
        self.n_fetched = 0

    def __len__(self):
        return len(self.images)

    def fetch(self, index):
        self.n_fetched += 1
        if self.images[index] is None:
            raise UnreadableImageError(f"{self.locate(index)}: gone.")
        return self.images[index]

    def locate(self, index):
        return f"image {index}"


class Means:
    """A backbone that sees the mean of each channel, and counts what it sees."""

    name = "means"
    width = 3
    resolution = 64
    batch_size = 4
    is_batch_dependent = False

    def __init__(self, fingerprint="means"):
        self.fingerprint = fingerprint
        self.batches = []

    def describe(self):
        return {"name": self.name}

    def embed(self, batch):
        self.batches.append(len(batch))
        return batch.mean(axis=(1, 2), dtype=np.float64).astype(np.float32)


class BatchMeans(Means):
    """A backbone whose features are relative to the batch."""

    is_batch_dependent = True

    def embed(self, batch):
        means = super().embed(batch)
        return means - means.mean(axis=0)


@pytest.fixture
def pictures(rng):
    return [rng.integers(0, 256, size=(8, 8 + i % 3, 3), dtype=np.uint8) for i in range(50)]


@pytest.fixture
def pool(pictures):
    return Pool([encoded(picture) for picture in pictures])


@pytest.fixture
def cache(tmp_path):
    with FeatureCache(tmp_path / "cache") as opened:
        yield opened


def test_rows_come_in_the_order_asked_for_and_only_those_images_are_read(pool):
    indices = [7, 3, 49, 7, 0]
    result = extract(pool, indices, Means())
    assert result.kept.tolist() == indices
    assert pool.n_fetched == 5
    every = extract(pool, range(50), Means()).features
    assert np.array_equal(result.features, every[indices])
    assert (result.n_cached, result.n_computed, result.unreadable) == (0, 5, [])


def test_no_indices_give_no_rows(pool):
    result = extract(pool, [], Means())
    assert result.features.shape == (0, 3)
    assert len(result.kept) == 0


def test_broken_and_vanished_images_are_left_out_and_named(pool):
    pool.images[3] = None
    pool.images[20] = b"not an image"
    pool.images[21] = b""
    pool.images[40] = pool.images[40][:60]
    result = extract(pool, range(50), Means(), jobs=3)
    assert [index for index, _ in result.unreadable] == [3, 20, 21, 40]
    assert result.unreadable[0][1] == "image 3: gone."
    assert "image 20" in result.unreadable[1][1]
    assert result.kept.tolist() == [i for i in range(50) if i not in {3, 20, 21, 40}]
    assert result.features.shape == (46, 3)
    assert result.n_computed == 46


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


def test_a_second_run_does_no_inference_and_gives_the_same_bits(pool, cache):
    first, again = Means(), Means()
    one = extract(pool, range(50), first, cache=cache)
    two = extract(pool, range(50), again, cache=cache)
    assert (sum(first.batches), sum(again.batches)) == (50, 0)
    assert np.array_equal(one.features, two.features)
    assert (two.n_cached, two.n_computed) == (50, 0)


def test_a_second_run_does_not_load_the_network(pool, cache, monkeypatch):
    first = extract(pool, range(5), load_backbone(), cache=cache)
    monkeypatch.setattr("mixmood.features.onnx.open_session", None)
    second = extract(pool, range(5), load_backbone(), cache=cache)
    assert np.array_equal(first.features, second.features)


def test_a_package_of_onnx_runtime_under_another_name_tells_the_same_version(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    told = prepare._runtime_version()
    monkeypatch.setattr(prepare.metadata, "version", absent)
    assert prepare._runtime_version() == told


def test_a_half_warm_cache_gives_the_same_bits(pool, cache):
    backbone = load_backbone(resolution=64)
    cold = extract(pool, range(40), backbone)
    extract(pool, range(0, 40, 3), backbone, cache=cache)
    warm = extract(pool, range(40), backbone, cache=cache)
    assert np.array_equal(cold.features, warm.features)
    assert (warm.n_cached, warm.n_computed) == (14, 26)


def test_the_number_of_threads_changes_no_bit(pool):
    pool.images[11] = None
    backbone = load_backbone(resolution=64)
    one = extract(pool, range(50), backbone, jobs=1)
    for jobs in (2, 5):
        other = extract(pool, range(50), backbone, jobs=jobs)
        assert np.array_equal(one.features, other.features)
        assert one.unreadable == other.unreadable


def test_a_renamed_or_moved_file_hits_the_cache(tmp_path, pool, cache):
    here, there = tmp_path / "here", tmp_path / "there" / "deeper"
    here.mkdir()
    there.mkdir(parents=True)
    for i, raw in enumerate(pool.images):
        (here / f"{i}.png").write_bytes(raw)
        (there / f"other-{50 - i}.png").write_bytes(raw)
    extract(FolderSource(here, "here"), range(50), Means(), cache=cache)
    moved = extract(FolderSource(tmp_path / "there", "there"), range(50), Means(), cache=cache)
    assert moved.n_cached == 50


def test_a_file_changed_in_place_misses_the_cache(pool, pictures, cache):
    extract(pool, range(50), Means(), cache=cache)
    pool.images[0] = encoded(255 - pictures[0])
    assert extract(pool, range(50), Means(), cache=cache).n_computed == 1


def test_arrays_hit_the_cache_by_their_pixels_and_their_shape(cache):
    flat = np.arange(48, dtype=np.uint8).reshape(2, 8, 3)
    extract(Pool([flat]), [0], Means(), cache=cache)
    assert extract(Pool([flat.copy()]), [0], Means(), cache=cache).n_cached == 1
    assert extract(Pool([flat.reshape(4, 4, 3)]), [0], Means(), cache=cache).n_cached == 0
    assert extract(Pool([flat + 1]), [0], Means(), cache=cache).n_cached == 0


def test_another_backbone_never_gets_the_rows_of_this_one(pool, cache):
    extract(pool, range(50), Means("one"), cache=cache)
    assert extract(pool, range(50), Means("other"), cache=cache).n_cached == 0


def test_a_cache_that_fails_changes_nothing_but_warns(pool, tmp_path):
    (tmp_path / "file").write_text("")
    with FeatureCache(tmp_path / "file") as broken:
        result = extract(pool, range(50), Means(), cache=broken)
        assert len(broken.warnings) == 1
    assert np.array_equal(result.features, extract(pool, range(50), Means()).features)


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


def test_features_that_depend_on_the_batch_are_never_cached(pool, cache):
    extract(pool, range(50), BatchMeans(), cache=cache)
    assert cache.info().n_images == 0
    assert extract(pool, range(50), BatchMeans(), cache=cache).n_cached == 0


def test_a_slow_backbone_stops_the_readers(pictures):
    """Otherwise a pool of a million large photos would gather in memory."""
    pool = Pool([encoded(pictures[0])] * 3000)
    may_go_on = threading.Event()

    class Slow(Means):
        def embed(self, batch):
            may_go_on.wait(30)
            return super().embed(batch)

    result = []
    thread = threading.Thread(
        target=lambda: result.append(extract(pool, range(3000), Slow(), jobs=2))
    )
    thread.start()
    before = -1
    while before != (before := pool.n_fetched):
        threading.Event().wait(0.3)
    assert 0 < before <= 300
    may_go_on.set()
    thread.join()
    assert result[0].n_computed == 3000


def test_large_files_are_not_kept_while_they_wait(rng, monkeypatch):
    """A large file is decoded by its reader: only its small square waits for the backbone."""
    from mixmood.features import prepare

    monkeypatch.setattr(prepare, "LARGE_BYTES", 100)
    large = encoded(rng.integers(0, 256, size=(40, 40, 3), dtype=np.uint8))
    preparer = prepare.Preparer(Pool([large, large[:200]]), Means(), None, n_decoders=1)
    good, broken = preparer.read([(0, 0), (1, 1)])
    assert good.raw is None
    assert good.picture.shape == (64, 64, 3)
    assert broken.raw is None
    assert "image 1" in broken.problem


def test_a_failing_backbone_ends_the_extraction_and_what_was_done_is_kept(pool, cache):
    class Failing(Means):
        def embed(self, batch):
            if len(self.batches) == 3:
                raise MemoryError
            return super().embed(batch)

    with pytest.raises(MemoryError):
        extract(pool, range(50), Failing(), jobs=1, cache=cache)
    assert cache.info().n_images == 12


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
    extract(pool, range(50), Means(), progress=listener)
    assert listener.heard[0] == ("pool", 50)
    assert sum(listener.heard[1:-1]) == 50
    assert listener.heard[-1] == "pool"


@pytest.mark.parametrize("jobs", [0, -1])
def test_fewer_than_one_thread_is_refused(pool, jobs):
    with pytest.raises(OptionError, match=f"jobs must be at least 1; got {jobs}"):
        extract(pool, [0], Means(), jobs=jobs)


INTERRUPTED = """
import sys, threading
sys.path.insert(0, {here!r})
from test_extract import *

told = threading.Event()

class Telling(Means):
    def embed(self, batch):
        if len(self.batches) >= 40 and not told.is_set():
            told.set()
            print("go", flush=True)
        threading.Event().wait(0.002)
        return super().embed(batch)

pool = Pool([encoded(np.full((4, 4, 3), i % 256, np.uint8)) for i in range(256)] * 400)
with FeatureCache(sys.argv[1]) as cache:
    try:
        extract(pool, range(len(pool)), Telling(), jobs=2, cache=cache)
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


def test_an_interruption_stops_soon_and_keeps_what_was_computed(tmp_path):
    code = INTERRUPTED.format(here=str(Path(__file__).parent))
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "go\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[0].endswith("stopped\n")
    assert process.returncode == 0
    with FeatureCache(tmp_path) as cache:
        assert cache.info().n_images >= 100
