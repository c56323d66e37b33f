"""Peak memory of a filter by the size of the pool: `python -m benchmarks.filter.memory`.

Each size is a process of its own. The pool is a folder of so many files (hard links, 1,000 to a
folder), listed as the product lists it. Reading them is left out, because a million images would
take an hour of a core: their features are random numbers. The network is loaded and has computed,
so that its memory counts; scoring, parts, duplicates, decision and list are the product's.
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

from mixmood.data.images.pool import FeatureSource
from mixmood.data.readers.files import FolderSource

SIZES = (10_000, 1_000_000)
MOST_LINKS = 10_000
"""To one file: file systems have a limit."""
N_LABELLED = 60
WIDTH = 128
"""Features of an image. The product has 1280, and more memory from the start, so that the ratio
measured here is, if anything, too large."""


class Listed(FeatureSource):
    """A folder of files with random numbers as features."""

    name = "pool"
    width = WIDTH

    def __init__(self, folder: str) -> None:
        """List the files."""
        self._files = FolderSource(folder, "pool")
        self._seen = np.random.default_rng(0).normal(size=(4096, WIDTH)).astype(np.float32)

    def __len__(self) -> int:
        """How many files there are."""
        return len(self._files)

    @property
    def fingerprint(self) -> str:
        """That of the list of files."""
        return self._files.fingerprint

    def features(self, indices: np.ndarray) -> np.ndarray:
        """Rows that differ: two of the table added, in another pair for every index."""
        first, second = np.asarray(indices) % 4096, np.asarray(indices) // 4096 * 7 % 4093
        return np.abs(self._seen[first] + self._seen[second])


def linked_pool(folder: Path, n_images: int) -> Path:
    """A folder of hard links, 1,000 to a sub-folder."""
    original = folder
    for number in range(n_images):
        parent = folder / f"{number // 1000:05d}"
        if number % 1000 == 0:
            parent.mkdir(parents=True)
        path = parent / f"{number:07d}.jpg"
        if number % MOST_LINKS == 0:
            path.touch()
            original = path
        else:
            os.link(original, path)
    return folder


def measure(pool: str, out: str) -> None:
    """Filter in this process and print time and peak memory as JSON."""
    import mixmood
    from mixmood.features.backbones.registry import load_backbone

    load_backbone().embed(np.zeros((64, 96, 96, 3), np.uint8))
    labelled = np.abs(np.random.default_rng(1).normal(size=(N_LABELLED, WIDTH)))
    start, processor = time.perf_counter(), time.process_time()
    listed = Listed(pool)
    listed_s = time.perf_counter() - start
    kept = mixmood.filter(labelled, listed, out=out, jobs=1, cache=None, keep=1000)
    print(
        json.dumps(
            {
                "images": kept.record.n_images,
                "listing_wall_s": listed_s,
                "wall_s": time.perf_counter() - start,
                "processor_s": time.process_time() - processor,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def main() -> None:
    """Measure every size and print the ratio of the last peak to the first."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.filter.memory")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--own", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.own:
        measure(*asked.own)
        return
    with tempfile.TemporaryDirectory() as name:
        folder, found = Path(name), []
        for size in asked.sizes:
            pool = linked_pool(folder / "pool", size)
            words = ["--own", str(pool), str(folder / "kept.csv")]
            command = [sys.executable, "-m", "benchmarks.filter.memory", *words]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found.append(json.loads(done.stdout.splitlines()[-1]))
            print(json.dumps(found[-1]), flush=True)
            shutil.rmtree(pool)
        print(json.dumps({"ratio": found[-1]["peak_mb"] / found[0]["peak_mb"]}))


if __name__ == "__main__":
    main()
