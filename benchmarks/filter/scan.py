"""The time of a scan: compared with the ONNX session alone, and with entries without images.

    python -m benchmarks.filter.scan throughput             a scan, against inference alone
    python -m benchmarks.filter.scan entries 10000000       decide and list so many images
    python -m benchmarks.filter.scan files 100000           open a folder of so many files

Processor time, not wall-clock time: other work on the machine does not change it.
"""

import argparse
import itertools
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from benchmarks.measuring.material import small_jpegs
from mixmood.core.listener import Silent
from mixmood.data.images.decode import decode_squares
from mixmood.data.images.pool import FeatureSource
from mixmood.data.readers.files import FolderSource
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.extract import Extractor
from mixmood.report.filter import list_rows, write_list
from mixmood.selection.filter import decide, gather_parts
from mixmood.selection.plan import FilterPlan, parse_keep
from mixmood.selection.scan import (
    PartFolder,
    ScanPart,
    empty_part,
    ranges,
    scan_local,
    write_part,
)
from mixmood.selection.scorer import fit_scorer

N_ROUNDS = 9
N_IMAGES = 512
MICRO_BATCH = 16
MOST_LISTED = 1_000_000
"""With more entries no list is written: writing it takes the same memory for any length."""


def main() -> None:
    """Measure what was asked for and print it as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.filter.scan")
    parser.add_argument("what", choices=["throughput", "entries", "files"])
    parser.add_argument("count", nargs="?", type=int, default=1_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure = {"throughput": throughput, "entries": entries, "files": files}[asked.what]
        print(json.dumps(measure(Path(folder), asked.count), indent=1))


def throughput(folder: Path, _: int) -> dict[str, float]:
    """Processor seconds of the bare session and of a scan of the same images, on one thread."""
    pool = FolderSource(small_jpegs(folder / "pool", N_IMAGES), "pool")
    labelled = FolderSource(small_jpegs(folder / "labelled", 100, seed=1), "labelled")
    backbone = load_backbone()
    extractor = Extractor(backbone, 1, None, Silent())
    scorer = fit_scorer(labelled, pool, FilterPlan(), extractor)
    side = backbone.resolution
    ready = np.stack([decode_squares(pool.fetch(i), str(i), (side,))[0] for i in range(N_IMAGES)])
    session, name = backbone._session(), backbone.input_name
    numbers = itertools.count()

    def bare() -> None:
        for start in range(0, N_IMAGES, MICRO_BATCH):
            session.run(None, {name: ready[start : start + MICRO_BATCH]})

    def scanned() -> None:
        parts = PartFolder(folder / f"parts{next(numbers)}", N_IMAGES)
        parts.folder.mkdir()
        scan_local(parts, pool, scorer, extractor)

    bare()
    found = [(_processor_s(bare), _processor_s(scanned)) for _ in range(N_ROUNDS)]
    ratios = [alone / whole for alone, whole in found]
    return {
        "images_per_core_second_bare": N_IMAGES / statistics.median(alone for alone, _ in found),
        "images_per_core_second_scan": N_IMAGES / statistics.median(whole for _, whole in found),
        "ratio": statistics.median(ratios),
        "lowest_ratio": min(ratios),
        "highest_ratio": max(ratios),
    }


class _Entries(FeatureSource):
    """So many rows that have names and nothing else."""

    name = "entries"
    fingerprint = "entries"
    width = 1

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def features(self, indices: np.ndarray) -> np.ndarray:
        return np.zeros((len(indices), 1))


def entries(folder: Path, count: int) -> dict[str, float]:
    """Time and memory of everything that a driver does, with random parts."""
    rng = np.random.default_rng(0)
    parts = PartFolder(folder / "parts", count)
    parts.begin({}, resume=False)
    start = time.process_time()
    for first, stop in ranges(count):
        write_part(parts.folder, first, _made_up(stop - first, rng))
    written_s = time.process_time() - start
    n_bytes = sum(path.stat().st_size for path in parts.folder.iterdir())
    start = time.process_time()
    n_missing = len(parts.missing())
    resumed_s = time.process_time() - start
    start = time.process_time()
    scanned = gather_parts(parts)
    gathered_s = time.process_time() - start
    start = time.process_time()
    reasons = decide(scanned, parse_keep(0.3), 0.5).reasons
    decided_s = time.process_time() - start
    found = {
        "entries": count,
        "missing": n_missing,
        "write_parts_s": written_s,
        "part_bytes_per_entry": n_bytes / count,
        "look_for_missing_parts_s": resumed_s,
        "gather_and_duplicates_s": gathered_s,
        "decide_s": decided_s,
    }
    if count <= MOST_LISTED:
        start = time.process_time()
        scorer = SimpleNamespace(class_names=("a", "b"), labelled_names=("own",))
        job = SimpleNamespace(pool=_Entries(count), parts=parts, scorer=scorer)
        write_list(folder / "kept.csv", "pool", list_rows(job, reasons, "pool"))
        found["write_list_s"] = time.process_time() - start
        found["list_bytes_per_entry"] = (folder / "kept.csv").stat().st_size / count
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**found, "peak_mb": peak_mb}


def _made_up(n: int, rng: np.random.Generator) -> ScanPart:
    part = empty_part(n)
    part.scores, part.confidence = rng.normal(size=n), rng.random(n)
    part.codes = rng.integers(0, 2**63, size=(n, 2), dtype=np.uint64)
    part.classes = rng.integers(0, 2, n)
    return part


def files(folder: Path, count: int) -> dict[str, float]:
    """Time to list a folder of so many files."""
    pool = folder / "pool"
    for number in range(0, count, 1000):
        (pool / f"{number:09d}").mkdir(parents=True)
        for own in range(number, min(number + 1000, count)):
            (pool / f"{number:09d}" / f"{own:09d}.jpg").touch()
    start = time.perf_counter()
    opened = FolderSource(pool, "pool")
    _ = opened.fingerprint
    wall_s = time.perf_counter() - start
    return {
        "files": len(opened),
        "open_wall_s": wall_s,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _processor_s(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
