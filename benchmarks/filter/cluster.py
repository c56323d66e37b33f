"""Two Ray workers against one, and one against no Ray: `python -m benchmarks.filter.cluster`.

Images a second between the first part that comes back and the last: the start of Ray, which takes
seconds however large the pool is, does not count; it is printed beside it. Rounds are taken in
turn (one worker, two, no Ray, one, ...).
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.material import small_jpegs
from mixmood.core.progress import Silent
from mixmood.data.files.folder import FolderSource
from mixmood.features.backbones.registry import load_backbone
from mixmood.selection.fit import FeatureReader, fit_scorer
from mixmood.selection.plan import FilterPlan
from mixmood.selection.scan import parts
from mixmood.selection.scan.cluster import ScanOrder, scan_ray
from mixmood.selection.scan.local import Scan, scan_local

PART_SIZE = 128
"""Smaller than the product's: every worker gets many parts of a small pool."""


class Clock(Silent):
    """Notes when how many images were done."""

    def __init__(self) -> None:
        """Begin."""
        self.start = time.perf_counter()
        self.marks: list[tuple[float, int]] = []

    def advance(self, task: str, steps: int = 1) -> None:
        """Note the time."""
        done = self.marks[-1][1] if self.marks else 0
        self.marks.append((time.perf_counter() - self.start, done + steps))

    def rate(self) -> float:
        """Images a second after the first part."""
        first = next(mark for mark in self.marks if mark[1] >= PART_SIZE)
        return (self.marks[-1][1] - first[1]) / (self.marks[-1][0] - first[0])


def main() -> None:
    """Measure and print medians, ratios and their range as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.filter.cluster")
    parser.add_argument("--images", type=int, default=3072)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    # Workers would otherwise give way to everything else on the machine.
    os.environ.setdefault("RAY_worker_niceness", "0")
    parts.PART_SIZE = PART_SIZE
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pool = FolderSource(small_jpegs(folder / "pool", asked.images), "pool")
        labelled = FolderSource(small_jpegs(folder / "labelled", 60, seed=1), "labelled")
        backbone = load_backbone()
        reader = FeatureReader(backbone, 1, None, Silent())
        scorer = fit_scorer(labelled, pool, FilterPlan(), reader)
        found: dict[str, list[Clock]] = {"one": [], "two": [], "local": []}
        for _ in range(asked.rounds):
            for kind, jobs in (("one", 1), ("two", 2), ("local", 1)):
                scan = Scan(pool, scorer, backbone, jobs=jobs, cache=None)
                clock = Clock()
                ranges = parts.ranges(asked.images)
                if kind == "local":
                    scan_local(scan, ranges, folder, clock)
                else:
                    order = ScanOrder(folder / "pool", pool.fingerprint)
                    scan_ray(scan, order, ranges, folder, clock)
                found[kind].append(clock)
    rates = {kind: [clock.rate() for clock in clocks] for kind, clocks in found.items()}
    ratios = [two / one for one, two in zip(rates["one"], rates["two"], strict=True)]
    print(
        json.dumps(
            {
                "images_per_s": {k: statistics.median(v) for k, v in rates.items()},
                "two_to_one": statistics.median(ratios),
                "two_to_one_range": [min(ratios), max(ratios)],
                "one_to_local": statistics.median(rates["one"]) / statistics.median(rates["local"]),
                "start_of_ray_s": statistics.median(c.marks[0][0] for c in found["one"]),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
