"""A disk that is full in the middle of work: a message, and all that was there before is whole."""

import gzip
import json
import os
import re
import resource
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from mixmood.cli.main import app
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import OutputError
from mixmood.core.listener import Recorder
from mixmood.data.download import get
from mixmood.data.sets import CATALOGUE, RemoteFile, digits
from mixmood.ssl.train import train
from mixmood.testbed.store import Store

NO_ROOM = "(No space left on device|File too large)"
MOUNT_BYTES = 8 * 1024**2


class LimitedDisk:
    """A folder; while it is full, no file may grow beyond a few bytes."""

    def __init__(self, folder):
        self.folder = folder

    @contextmanager
    def full(self):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


class SmallDisk:
    """A file system of a few megabytes; while it is full, a file takes what is left of it."""

    def __init__(self, folder):
        self.folder = folder

    @contextmanager
    def full(self):
        filler = self.folder / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        try:
            yield
        finally:
            filler.unlink()


@pytest.fixture(params=["limited", "small"])
def disk(request, tmp_path):
    if request.param == "limited":
        yield LimitedDisk(tmp_path)
        return
    place = tmp_path / "mounted"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MOUNT_BYTES}", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("may not mount a file system; root may")
    yield SmallDisk(place)
    subprocess.run(["umount", str(place)], check=True)


def files(folder):
    """All files but SQLite's own and what fills the disk, by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "sqlite" not in path.name and path.name != "filler"
    }


def test_reports_of_an_earlier_run_stay(disk, tmp_path, rng):
    for name in ("labelled", "pool"):
        np.save(disk.folder / f"{name}.npy", rng.normal(size=(40, 4)))
    inputs = [str(disk.folder / f"{name}.npy") for name in ("labelled", "pool")]
    outputs = [f"--{kind}={disk.folder}/report.{kind}" for kind in ("json", "csv", "html")]
    rank = ["rank", *inputs, "--draws", "4", "--measure", "l2"]
    assert CliRunner().invoke(app, [*rank, *outputs]).exit_code == 0
    before = files(disk.folder)
    assert len(before) == 5
    with disk.full():
        for output in outputs:
            done = CliRunner().invoke(app, [*rank, output, "--seed", "1"])
            # A report of less than 300 bytes would fit under the limit, and may be the new one.
            assert done.exit_code == 1, done.output
            assert re.search(rf"Error: Cannot write .*report.\w+: {NO_ROOM}", done.stderr)
    assert files(disk.folder) == before


def keyed(first, last):
    return {n.to_bytes(20, "big"): np.full(1280, n, np.float32) for n in range(first, last)}


def test_a_cache_keeps_what_it_had_and_work_goes_on_without_it(disk):
    with FeatureCache(disk.folder, listener=Recorder()) as cache:
        cache.put(keyed(0, 40))
        with disk.full():
            cache.put(keyed(40, 1000))
            assert len(cache.warnings) == 1
            assert "going on without it" in cache.warnings[0]
            assert cache.get(keyed(0, 40)) == {}
    with FeatureCache(disk.folder, listener=Recorder()) as cache:
        assert cache.warnings == []
        assert cache._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found = cache.get(keyed(0, 1000))
        assert all((found[key] == row).all() for key, row in keyed(0, 40).items())
        assert len(found) == 40


def test_a_cache_that_cannot_even_be_begun_is_done_without(disk):
    with disk.full(), FeatureCache(disk.folder / "new", listener=Recorder()) as cache:
        assert not cache.is_open
        assert len(cache.warnings) == 1


def test_records_of_a_test_bed_stay(disk, tiny_bed):
    config, jobs, record_of = tiny_bed
    store = Store.make(disk.folder / "store", config)
    store.write(record_of(jobs[0]))
    before = files(store.folder)
    with disk.full(), pytest.raises(OutputError, match=rf"Cannot write .*json: {NO_ROOM}"):
        store.write(record_of(jobs[1]))
    assert files(store.folder) == before
    assert store.keys() == {jobs[0].key}


def test_a_store_whose_first_file_found_no_room_can_be_made_later(disk, tiny_bed):
    with disk.full(), pytest.raises(OutputError, match=NO_ROOM):
        Store.make(disk.folder / "store", tiny_bed[0])
    assert Store.make(disk.folder / "store", tiny_bed[0]).keys() == set()


def test_a_run_goes_on_from_its_last_checkpoint_once_there_is_room(disk):
    images, labels = digits()
    data = (images[:20], labels[:20], images[20:60], images[60:100], labels[60:100])
    options = {"model": "wrn-tiny:groups=1,first_filters=8", "epochs": 4, "augment": "none"}
    whole = train(*data, **options)
    with ExitStack() as stack:

        def fill(epoch):
            if epoch.epoch == 2:
                stack.enter_context(disk.full())

        with pytest.raises(OutputError, match=rf"Cannot write .*: {NO_ROOM}"):
            train(*data, **options, out=disk.folder / "run", on_epoch=fill)
    assert not [name for name in files(disk.folder / "run") if name.startswith(".")]
    saved = torch.load(disk.folder / "run" / "checkpoint.pt", weights_only=True)
    assert len(json.loads(saved["epochs"])) in (1, 2)
    resumed = train(*data, **options, out=disk.folder / "run", resume=True)
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name


def test_no_half_of_a_data_set_is_left(disk, rng):
    def idx(array):
        head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
        return gzip.compress(head + array.astype(np.uint8).tobytes(), mtime=0)

    contents = {
        "train-images-idx3-ubyte.gz": idx(rng.integers(0, 255, (6, 28, 28))),
        "train-labels-idx1-ubyte.gz": idx(np.arange(6)),
    }
    for name, content in contents.items():
        (disk.folder / name).write_bytes(content)
    remote = tuple(RemoteFile(name, (), len(content), None) for name, content in contents.items())
    entry = replace(CATALOGUE["mnist"], files=remote, n_images=6)
    with (
        disk.full(),
        pytest.raises(OutputError, match=r"(disk is full|disk I/O error)\. Make room"),
    ):
        get(entry, disk.folder)
    assert files(disk.folder) == contents | {"downloads/mnist.lock": b""}
    assert get(entry, disk.folder).is_file()
    assert os.access(disk.folder / "mnist.npz", os.R_OK)
