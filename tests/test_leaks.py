"""Nothing stays behind in the process: no file, thread, child or temporary file, whatever the end.

Each case is run twice and the second run measured: what a library opens once for good is its own.
"""

import gc
import os
import signal
import sys
import tarfile
import tempfile
import threading
import zipfile
from collections import Counter
from contextlib import nullcontext, suppress
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mixmood
from mixmood.core.errors import OptionError, TrainingError
from mixmood.core.listener import Recorder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what is open")

ENDS = {"done": None, "error": OptionError, "interrupt": KeyboardInterrupt}


class Stops(Recorder):
    """A listener that ends the work with an error after a few steps."""

    def __init__(self, error):
        super().__init__()
        self.error = error
        self.n_steps = 0

    def advance(self, task, steps=1):
        self.n_steps += steps
        if self.error is not None and self.n_steps >= 6:
            raise self.error("enough")


def ending(error):
    """Expects the error that the listener raises, if any."""
    return nullcontext() if error is None else pytest.raises(error, match="enough")


def open_files():
    found = Counter()
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the handle of this very listing is gone by now
            found[str(handle.readlink())] += 1
    return found


def children():
    mine = str(os.getpid())
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = status.read_text().rpartition(")")[2].split()[1]
            found += [status.parent.name] if parent == mine else []
    return sorted(found)


def held(*folders):
    """All that a process can leave behind."""
    gc.collect()
    maps = Path("/proc/self/maps").read_text()
    return {
        "files": open_files(),
        "maps": [folder for folder in folders if str(folder) in maps],
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "children": children(),
        "temporary": sorted(Path(tempfile.gettempdir()).iterdir()),
        "on Ctrl-C": signal.getsignal(signal.SIGINT),
    }


@pytest.fixture(autouse=True)
def young_objects_only():
    """What earlier tests made is not searched for garbage: with torch loaded that takes long."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def no_cluster():
    """A Ray that other tests share starts and ends processes when it likes."""
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary directory that nobody else writes into."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def save_images(folder, n_images, rng):
    folder.mkdir(parents=True)
    for index in range(n_images):
        pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{index}.png")
    return folder


def packed(kind, folder):
    """The images of a folder as a pool of some kind."""
    path = folder.with_name(f"pool.{kind}")
    files = sorted(folder.iterdir())
    if kind == "folder":
        return folder
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for file in files:
                archive.write(file, file.name)
    elif kind.startswith("tar"):
        with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as archive:
            for file in files:
                archive.add(file, file.name)
    elif kind == "parquet":
        pyarrow, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
        rows = pyarrow.table({"image": [file.read_bytes() for file in files]})
        parquet.write_table(rows, path)
    else:
        images = np.stack([np.asarray(Image.open(file)) for file in files])
        {"npy": np.save, "npz": np.savez, "packed.npz": np.savez_compressed}[kind](path, images)
    return path


KINDS = ("folder", "zip", "tar", "tar.gz", "npy", "npz", "packed.npz", "parquet")


@pytest.mark.parametrize(
    ("kind", "end"),
    [*product(KINDS, ("done", "error")), ("folder", "interrupt"), ("tar.gz", "interrupt")],
)
def test_a_ranking_leaves_nothing_behind(kind, end, tmp_path, temporary, rng, small_backbone):
    labelled = save_images(tmp_path / "labelled", 12, rng)
    pool = packed(kind, save_images(tmp_path / "pool", 12, rng))
    cache = tmp_path / "cache"

    def run(seed):
        options = {"draws": 2, "seed": seed, "listener": Stops(ENDS[end])}
        with ending(ENDS[end]):
            report = mixmood.rank(
                labelled, {"pool": pool}, cache=cache, backbone=small_backbone, **options
            )
            report.to_html()

    run(0)
    before = held(labelled, pool, cache)
    run(1)
    assert held(labelled, pool, cache) == before
    assert before["maps"] == []
    assert not [file for file in before["files"] if file.startswith(str(tmp_path))]


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
def test_a_training_leaves_nothing_behind(end, tmp_path, temporary, rng):
    for name in ("dark", "light"):
        save_images(tmp_path / "labelled" / name, 8, rng)
    pool = packed("zip", save_images(tmp_path / "pool", 8, rng))
    error = {"error": TrainingError}.get(end, ENDS[end])

    def run(seed):
        with ending(error):
            mixmood.train(
                tmp_path / "labelled", pool, out=tmp_path / str(seed), model="wrn-tiny",
                epochs=2, updates=8, batch_size=4, seed=seed, listener=Stops(error),
            )  # fmt: skip

    run(0)
    before = held(tmp_path / "labelled", pool)
    run(1)
    assert held(tmp_path / "labelled", pool) == before
    assert not [file for file in before["files"] if file.startswith(str(tmp_path))]
