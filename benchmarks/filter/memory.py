"""Peak memory of a filter by the size of the pool: `python -m benchmarks.filter.memory`.

Each size is a process of its own; pools are hard links to a few small JPEGs, 1,000 to a folder, and
everything else is the product: listing, reading, decoding, scoring, parts, duplicates, list. Only
the network is replaced by a cheap projection of the pixels, with noise so that images differ, once
it has seen the first images: a million would take an hour of a core.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.material import small_jpegs
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.registry import load_backbone

SIZES = (10_000, 1_000_000)
N_ORIGINALS = 400
"""A file system allows some ten thousand links to a file."""
N_LABELLED = 60
N_EMBEDDED = 1200
"""Images that the real network sees: it has then all the memory that it will ever have."""


class MostlyProjected:
    """A backbone that gives way to a projection of every 16th pixel after some images."""

    def __init__(self, backbone: Backbone) -> None:
        """Wrap a real one."""
        self._backbone, self._n_seen = backbone, 0
        self._rng = np.random.default_rng(1)
        shape = (backbone.resolution**2 * 3 // 256, backbone.width)
        self._planes = np.random.default_rng(0).normal(size=shape).astype(np.float32)

    def __getattr__(self, name: str) -> object:
        """All else is as the real one has it."""
        return getattr(self._backbone, name)

    def embed(self, batch: np.ndarray) -> np.ndarray:
        """Features of images."""
        self._n_seen += len(batch)
        if self._n_seen <= N_EMBEDDED:
            return self._backbone.embed(batch)
        pixels = batch.reshape(len(batch), -1)[:, ::256].astype(np.float32)
        noise = self._rng.normal(size=(len(batch), self._planes.shape[1])).astype(np.float32)
        return np.abs(pixels @ self._planes / 256 + noise)


def linked_pool(folder: Path, originals: Path, n_images: int) -> Path:
    """A folder of hard links, 1,000 to a sub-folder."""
    files = sorted(originals.iterdir())
    for number in range(n_images):
        parent = folder / f"{number // 1000:05d}"
        if number % 1000 == 0:
            parent.mkdir(parents=True)
        os.link(files[number % len(files)], parent / f"{number:07d}.jpg")
    return folder


def measure(labelled: str, pool: str, out: str) -> None:
    """Filter in this process and print time and peak memory as JSON."""
    import mixmood
    from mixmood.features.backbones import registry

    registry.load_backbone = lambda *_: MostlyProjected(load_backbone())
    start, processor = time.perf_counter(), time.process_time()
    kept = mixmood.filter(labelled, pool, out=out, jobs=1, cache=None, keep=1000, probe=False)
    print(
        json.dumps(
            {
                "images": kept.record.n_images,
                "wall_s": time.perf_counter() - start,
                "processor_s": time.process_time() - processor,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "list_mb": Path(out).stat().st_size / 2**20,
            }
        )
    )


def main() -> None:
    """Measure every size and print the ratio of the last peak to the first."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.filter.memory")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--own", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.own:
        measure(*asked.own)
        return
    with tempfile.TemporaryDirectory() as name:
        folder, found = Path(name), []
        originals = small_jpegs(folder / "originals", N_ORIGINALS)
        labelled = small_jpegs(folder / "labelled", N_LABELLED, seed=1)
        for size in asked.sizes:
            pool = linked_pool(folder / "pool", originals, size)
            words = ["--own", str(labelled), str(pool), str(folder / "kept.csv")]
            command = [sys.executable, "-m", "benchmarks.filter.memory", *words]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found.append(json.loads(done.stdout.splitlines()[-1]))
            print(json.dumps(found[-1]), flush=True)
            shutil.rmtree(pool)
        print(json.dumps({"ratio": found[-1]["peak_mb"] / found[0]["peak_mb"]}))


if __name__ == "__main__":
    main()
