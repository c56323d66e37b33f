"""Extraction with a cache: what is found again, what never is, and what an end too soon leaves."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.fixtures.counted_pool import BatchMeans, Means, Pool, encoded, extract, n_embedded

from mixmood.core.cache import FeatureCache
from mixmood.core.listener import Recorder
from mixmood.data.readers.files import FolderSource
from mixmood.features import prepare
from mixmood.features.backbones.registry import load_backbone


def test_a_second_run_does_no_inference_and_gives_the_same_bits(pool, cache):
    first, again = Means(), Means()
    one = extract(pool, range(50), first, cache=cache)
    two = extract(pool, range(50), again, cache=cache)
    assert (sum(first.batches), sum(again.batches)) == (50, 0)
    assert np.array_equal(one.features, two.features)


def test_a_second_run_does_not_load_the_network(pool, cache, monkeypatch):
    first = extract(pool, range(5), load_backbone(), cache=cache)
    monkeypatch.setattr("mixmood.features.backbones.onnx_network.open_on_device", None)
    second = extract(pool, range(5), load_backbone(), cache=cache)
    assert np.array_equal(first.features, second.features)


def test_a_package_of_onnx_runtime_under_another_name_tells_the_same_version(monkeypatch):
    told = prepare.runtime_version()
    monkeypatch.setattr(prepare, "package_version", lambda _: None)
    assert prepare.runtime_version() == told


def test_another_version_of_pydicom_misses_the_cache(tmp_path, cache, monkeypatch):
    from tests.fixtures.dicom_files import RAMP, made

    (tmp_path / "scan.dcm").write_bytes(made(RAMP.astype(np.uint16)))
    (tmp_path / "photo.png").write_bytes(encoded(np.arange(192).reshape(8, 8, 3).astype(np.uint8)))
    pool = FolderSource(tmp_path, "scans")
    assert [n_embedded(pool, range(2), Means(), cache=cache) for _ in range(2)] == [2, 0]
    known = prepare.package_version
    others = {"pydicom": "9.9"}
    monkeypatch.setattr(prepare, "package_version", lambda name: others.get(name) or known(name))
    assert n_embedded(pool, range(2), Means(), cache=cache) == 1


def test_a_half_warm_cache_gives_the_same_bits(pool, cache):
    backbone = load_backbone(resolution=64)
    cold = extract(pool, range(40), backbone)
    extract(pool, range(0, 40, 3), backbone, cache=cache)
    assert n_embedded(pool, range(40), backbone, cache=cache) == 26
    warm = extract(pool, range(40), backbone, cache=cache)
    assert np.array_equal(cold.features, warm.features)


def test_a_renamed_or_moved_file_hits_the_cache(tmp_path, pool, cache):
    here, there = tmp_path / "here", tmp_path / "there" / "deeper"
    here.mkdir()
    there.mkdir(parents=True)
    for i, raw in enumerate(pool.images):
        (here / f"{i}.png").write_bytes(raw)
        (there / f"other-{50 - i}.png").write_bytes(raw)
    extract(FolderSource(here, "here"), range(50), Means(), cache=cache)
    moved = FolderSource(tmp_path / "there", "there")
    assert n_embedded(moved, range(50), Means(), cache=cache) == 0


def test_copies_far_behind_an_image_are_found_in_the_cache(pool, cache):
    copies = Pool(pool.images[:2] * 500)
    assert n_embedded(copies, range(1000), Means(), cache=cache, jobs=1) < 500


def test_a_file_changed_in_place_misses_the_cache(pool, pictures, cache):
    extract(pool, range(50), Means(), cache=cache)
    pool.images[0] = encoded(255 - pictures[0])
    assert n_embedded(pool, range(50), Means(), cache=cache) == 1


def test_arrays_hit_the_cache_by_their_pixels_and_their_shape(cache):
    flat = np.arange(48, dtype=np.uint8).reshape(2, 8, 3)
    extract(Pool([flat]), [0], Means(), cache=cache)
    assert n_embedded(Pool([flat.copy()]), [0], Means(), cache=cache) == 0
    assert n_embedded(Pool([flat.reshape(4, 4, 3)]), [0], Means(), cache=cache) == 1
    assert n_embedded(Pool([flat + 1]), [0], Means(), cache=cache) == 1


def test_another_backbone_never_gets_the_rows_of_this_one(pool, cache):
    extract(pool, range(50), Means("one"), cache=cache)
    assert n_embedded(pool, range(50), Means("other"), cache=cache) == 50


def test_a_cache_that_fails_changes_nothing_but_warns(pool, tmp_path):
    (tmp_path / "file").write_text("")
    with FeatureCache(tmp_path / "file", listener=Recorder()) as broken:
        result = extract(pool, range(50), Means(), cache=broken)
        assert len(broken.warnings) == 1
    assert np.array_equal(result.features, extract(pool, range(50), Means()).features)


def test_features_that_depend_on_the_batch_are_never_cached(pool, cache):
    extract(pool, range(50), BatchMeans(), cache=cache)
    assert cache.info().n_images == 0
    assert n_embedded(pool, range(50), BatchMeans(), cache=cache) == 52, "two fill the last batch"


def test_a_failing_backbone_ends_the_extraction_and_what_was_done_is_kept(pool, cache):
    class Failing(Means):
        def embed(self, batch):
            if len(self.batches) == 3:
                raise MemoryError
            return super().embed(batch)

    with pytest.raises(MemoryError):
        extract(pool, range(50), Failing(), jobs=1, cache=cache)
    assert cache.info().n_images == 12


INTERRUPTED = """
import sys, threading
import numpy as np
sys.path.insert(0, {here!r})
from tests.fixtures.counted_pool import Means, Pool, encoded, extract
from mixmood.core.cache import FeatureCache

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
    code = INTERRUPTED.format(here=str(Path(__file__).parents[2]))
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "go\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=120)[0].endswith("stopped\n")
    assert process.returncode == 0
    with FeatureCache(tmp_path, listener=Recorder()) as cache:
        assert cache.info().n_images >= 100
