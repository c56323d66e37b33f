"""Two Ray workers against one, and one against no Ray: `python -m benchmarks.filter.cluster`.

Images a second between the first finished part and the last one. The start of Ray, which takes
seconds for any size of the pool, does not count; it is printed separately. The rounds alternate
(one worker, two, no Ray, one, ...).

Rates are meaningful only on an idle machine. Two numbers are also valid on a busy one: `overhead`,
the processor time of Ray and of the driver for each second of the workers' own, and `busy`, the
part of the time in which workers score. Workers and Ray share the cores, so two workers on two
cores are 2 * busy / (1 + overhead) times as fast as one that never waits:
`two_to_one_by_processor_time`. Waiting for other programs only makes it smaller.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.filter.timed_worker import TimedWorker
from benchmarks.measuring.material import small_jpegs
from mixmood.core.listener import Silent
from mixmood.data.readers.files import FolderSource
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.extract import Extractor
from mixmood.selection import cluster
from mixmood.selection import scan as parts
from mixmood.selection.filter import FilterJob
from mixmood.selection.plan import FilterPlan
from mixmood.selection.scorer import fit_scorer

PART_SIZE = 128
"""Smaller than the product's: every worker gets many parts of a small pool."""


class Clock(Silent):
    """Records how many images were done at which time, and the processor time of all processes."""

    def __init__(self) -> None:
        """Begin."""
        self.start = time.perf_counter()
        self.marks: list[tuple[float, int]] = []
        self.spent: list[tuple[float, float]] = []
        self.spans: list[tuple[float, float, float]] = []

    def advance(self, task: str, steps: int = 1) -> None:
        """Note the time."""
        done = self.marks[-1][1] if self.marks else 0
        self.marks.append((time.perf_counter() - self.start, done + steps))
        self.spent.append((time.time(), cpu_of_tree_s(os.getpid())))

    def rate(self) -> float:
        """Images a second after the first part."""
        first = next(mark for mark in self.marks if mark[1] >= PART_SIZE)
        return (self.marks[-1][1] - first[1]) / (self.marks[-1][0] - first[0])

    def shares(self, n_workers: int) -> dict[str, float]:
        """`overhead` and `busy` between the first part and the last."""
        (begin, before), (end, after) = self.spent[0], self.spent[-1]
        scored = work = 0.0
        for start, stop, cpu_s in self.spans:
            inside = max(0.0, min(stop, end) - max(start, begin))
            scored, work = scored + inside, work + cpu_s * inside / (stop - start)
        return {
            "overhead": (after - before) / work - 1,
            "busy": scored / (n_workers * (end - begin)),
        }


def cpu_of_tree_s(root: int) -> float:
    """Processor time of a process and of all below it that live, in seconds."""
    parents, spent = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
                spent[int(entry.name)] = int(fields[11]) + int(fields[12])
    tree, grew = {root}, True
    while grew:
        more = {pid for pid, parent in parents.items() if parent in tree} - tree
        tree, grew = tree | more, bool(more)
    return sum(spent[pid] for pid in tree) / os.sysconf("SC_CLK_TCK")


def timed_scan(job: FilterJob, clock: Clock) -> None:
    """`scan_ray` with workers that record when they worked."""
    outcomes = cluster._outcomes

    def noted(*arguments: Any) -> Iterator[Any]:
        for part, outcome in outcomes(*arguments):
            began, ended, cpu_s = map(float, outcome.key.split())
            clock.spans.append((began, ended, cpu_s))
            yield part, outcome

    with mock.patch.multiple(cluster, ScanWorker=TimedWorker, _outcomes=noted):
        cluster.scan_ray(job)


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
        plan = FilterPlan()
        scorer = fit_scorer(labelled, pool, plan, Extractor(backbone, 1, None, Silent()))
        found: dict[str, list[Clock]] = {"one": [], "two": [], "local": []}
        for _ in range(asked.rounds):
            for kind, jobs in (("one", 1), ("two", 2), ("local", 1)):
                clock = Clock()
                reader = Extractor(backbone, jobs, None, clock)
                with tempfile.TemporaryDirectory() as place:
                    own = parts.PartFolder(Path(place), asked.images)
                    job = FilterJob(pool, folder / "pool", plan, scorer, reader, own)
                    if kind == "local":
                        parts.scan_local(own, pool, scorer, reader)
                    else:
                        timed_scan(job, clock)
                found[kind].append(clock)
    rates = {kind: [clock.rate() for clock in clocks] for kind, clocks in found.items()}
    ratios = [two / one for one, two in zip(rates["one"], rates["two"], strict=True)]
    busy = {kind: [c.shares(n) for c in found[kind]] for kind, n in (("one", 1), ("two", 2))}
    by_time = [2 * shares["busy"] / (1 + shares["overhead"]) for shares in busy["two"]]
    print(
        json.dumps(
            {
                "shares": busy,
                "two_to_one_by_processor_time": statistics.median(by_time),
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
