"""Does a ranking that stops early find the same nearest pool, and how much time does it save?

python -m benchmarks until                              the case, all of it
python -m benchmarks.statistics.early FOLDER MINUTES    in parts: results in FOLDER are kept

All times are processor times, which other load on the machine changes little. The time of a run is
the sum of the start of the command, its images at the measured time of an image, its statistics,
and the probe.
"""

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measuring.material import pack
from benchmarks.measuring.processes import cost, rank_command
from benchmarks.measuring.row import Effort, Row
from mixmood.core.listener import Silent
from mixmood.core.seeds import rng_for
from mixmood.data.images.pool import Labels
from mixmood.data.readers.array import FeatureArray, ImageArray
from mixmood.evidence.labelled import N_FIRST
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.extract import Extractor
from mixmood.features.reading import LABELLED, POOL, Reading
from mixmood.jobs.local import checked_jobs
from mixmood.ranking.distance import Scores, score
from mixmood.ranking.judge import gains_of
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.rounds import read_in_rounds

TASKS = ("cifar10", "mnist", "fashion_mnist", "svhn")
OTHERS = ("tiny_imagenet", "fashion_product")
N_CASES = 100
N_LABELLED = 150
UNTIL = 0.99
KNOWN: dict[str, tuple[np.ndarray, np.ndarray]] = {}
"""Features and labels of each pack."""


def stopping(effort: Effort) -> list[Row]:
    """`rank` with its defaults against the full reading over 100 seeds, on real images."""
    n_seeds = effort.images(N_CASES, least=4)
    known, image_s = all_features(effort.images(3000, least=600))
    prices = Prices(image_s, start_s())
    # The features go to each process once, not with every seed.
    with ProcessPoolExecutor(checked_jobs(None), initializer=KNOWN.update, initargs=(known,)) as of:
        outcomes = list(of.map(outcome, range(n_seeds)))
    return rows(outcomes, prices)


@dataclass(frozen=True)
class Prices:
    """Processor seconds from one image to its features, and of a command without images."""

    image_s: float
    start_s: float


def start_s() -> float:
    """Processor seconds of `rank` with almost no images."""
    with TemporaryDirectory() as folder:
        labelled, pool = Path(folder, "labelled.npy"), Path(folder, "pool.npy")
        for path in (labelled, pool):
            np.save(path, rng_for(0, "benchmark", path.stem).normal(size=(16, 4)))
        command = [*rank_command(labelled, {"pool": pool}, "none"), "--draws", "2"]
        return float(np.median([cost(command).cpu_s for _ in range(3)]))


def all_features(most: int) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], float]:
    """Features and labels of every pack, and the processor time of one image."""
    known, image_s, backbone = {}, [], load_backbone()
    for name in TASKS + OTHERS:
        start = time.process_time()
        known[name] = features_of(name, most, backbone)
        image_s.append((time.process_time() - start) / len(known[name][0]))
    return known, float(np.median(image_s))


def rows(outcomes: "list[Outcome]", prices: Prices) -> list[Row]:
    """The results over all seeds."""
    n_seeds = len(outcomes)
    saved = sorted(100 * (1 - one.n_early / one.n_full) for one in outcomes)
    ratios = sorted(one.ratio(prices, has_probe=True) for one in outcomes)
    without = float(np.median([one.ratio(prices, has_probe=False) for one in outcomes]))
    n_same = sum(one.is_same for one in outcomes)
    note = (
        f"{N_LABELLED} labelled images of five random classes of one of {len(TASKS)} packs; pools: "
        "the same classes, the other five, and the five other packs."
    )
    statistics_s, full_s, probe_s = (
        float(np.median([getattr(one, name) for one in outcomes]))
        for name in ("early_s", "full_s", "probe_s")
    )
    return [
        Row(
            f"rank, stopping at {UNTIL}: same winner as the full reading, percent of {n_seeds} "
            "seeds",
            "the full reading of 30 draws",
            *[100 * n_same / n_seeds] * 3,
            f"{n_same} of {n_seeds}",
            at_least=99,
            unit=" %",
            note=f"{note} The nearest pool; the gain is that of the same images of each pool "
            f"either way. Images of pools saved: median {np.median(saved):.0f} %, from "
            f"{saved[0]:.0f} to {saved[-1]:.0f} %.",
        ),
        Row(
            f"rank, stopping at {UNTIL}: time of a first run by that of the full reading, median",
            "the full reading of 30 draws",
            float(np.median(ratios)),
            ratios[0],
            ratios[-1],
            f"{prices.image_s * 1000:.1f} ms an image",
            at_most=0.4,
            note=f"{note} The default command, probe included. Processor time: its start "
            f"({prices.start_s:.1f} s), images read, at the measured time of an image, statistics "
            f"(median {statistics_s:.1f} s, {full_s:.1f} s of the full reading), and the probe "
            f"(median {probe_s:.1f} s, the same either way). Without the probe the median is "
            f"{without:.2f}.",
        ),
    ]


@dataclass(frozen=True)
class Outcome:
    """One seed: whether the winner is the same, images read, seconds of statistics and probe."""

    is_same: bool
    n_early: int
    n_full: int
    early_s: float
    full_s: float
    probe_s: float

    def ratio(self, prices: Prices, has_probe: bool) -> float:
        """The time of the run that stops early by that of the full reading."""
        both = prices.start_s + (self.probe_s if has_probe else 0.0)
        early = self.n_early * prices.image_s + self.early_s + both
        return early / (self.n_full * prices.image_s + self.full_s + both)


def features_of(name: str, most: int, backbone: Backbone) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of at most so many images of a pack, chosen at random."""
    images, labels = pack(name)
    chosen = rng_for(0, "benchmark", name).permutation(len(images))[:most]
    found = Extractor(backbone, jobs=1).read(ImageArray(images, name), chosen)
    return found.features, labels[found.rows]


def outcome(seed: int) -> Outcome:
    """One seed, read in full and with early stopping."""
    task = TASKS[seed % len(TASKS)]
    rng = rng_for(seed, "benchmark", "split")
    features, labels = KNOWN[task]
    classes = np.sort(rng.permutation(10)[:5])
    is_own = np.isin(labels, classes)
    own = rng.permutation(np.flatnonzero(is_own))
    pools = {"same classes": features[own[N_LABELLED:]], "other classes": features[~is_own]}
    pools |= {name: rows for name, (rows, _) in KNOWN.items() if name != task}
    chosen = own[:N_LABELLED]
    codes = np.searchsorted(classes, labels[chosen]).astype(np.int32)
    labelled = FeatureArray(features[chosen], "labelled", Labels(codes, tuple("abcde")))
    with threadpool_limits(1):
        full = Run(labelled, pools, seed, until=None)
        early = Run(labelled, pools, seed, until=UNTIL)
        start = time.process_time()
        gains = gains_of(early.labelled, early.pools, seed, None, Silent())
        probe_s = time.process_time() - start
    is_same = full.nearest == early.nearest
    # With those that the probe has read beyond the draws.
    n_early = len(gains.labelled.features)
    n_early += sum(len(one.features) for one in gains.pools.values())
    return Outcome(is_same, n_early, full.n_read, early.took_s, full.took_s, probe_s)


class Run:
    """What `rank` does for one seed, up to the probe."""

    def __init__(self, labelled: FeatureArray, pools, seed: int, until: float | None) -> None:
        """Read and compute."""

        def reading(pool: FeatureArray, most: int, side: str) -> Reading:
            return Reading.begin(pool, most, seed, side, Extractor(None, jobs=1))

        start = time.process_time()
        plan = RankingPlan(seed=seed, until=until)
        own = reading(labelled, 2 * plan.sample_size * plan.draws, LABELLED)
        own = own.read_on(2 * plan.sample_size)
        self.plan = plan.fitted(len(own.features))
        most = self.plan.sample_size * plan.draws
        begun = {
            name: reading(FeatureArray(rows, name), most, POOL) for name, rows in pools.items()
        }
        rounds = read_in_rounds(own, begun, self.plan, least=N_FIRST)
        self.labelled, self.pools = rounds.labelled, rounds.pools
        features = {name: one.features for name, one in self.pools.items()}
        self.scores: Scores = score(self.labelled.features, features, self.plan)
        self.took_s = time.process_time() - start
        self.n_read = len(self.labelled.features) + sum(map(len, features.values()))

    @property
    def nearest(self) -> str:
        """The nearest pool."""
        found = self.scores.pools
        return min(found, key=lambda name: found[name][self.plan.measure].rank)


def in_parts(folder: Path, minutes: float) -> None:
    """Compute some of the seeds that are missing in a folder, then print the results of all."""
    end = time.monotonic() + 60 * minutes
    folder.mkdir(parents=True, exist_ok=True)
    kept, done = folder / "features.npz", folder / "outcomes.jsonl"
    if not kept.exists():
        known, image_s = all_features(3000)
        arrays = {f"{name} {k}": pair[k] for name, pair in known.items() for k in (0, 1)}
        np.savez(kept, image_s=image_s, start_s=start_s(), **arrays)
    with np.load(kept) as content:
        prices = Prices(float(content["image_s"]), float(content["start_s"]))
        for name in TASKS + OTHERS:
            KNOWN[name] = content[f"{name} 0"], content[f"{name} 1"]
    outcomes = [Outcome(**json.loads(line)) for line in done.open()] if done.exists() else []
    while len(outcomes) < N_CASES and time.monotonic() < end:
        outcomes.append(outcome(len(outcomes)))
        with done.open("a") as file:
            file.write(json.dumps(asdict(outcomes[-1])) + "\n")
    for row in rows(outcomes, prices):
        sys.stdout.write(f"{row.what}: {row.ratio:.3g} ({row.values})\n  {row.note}\n")


if __name__ == "__main__":
    in_parts(Path(sys.argv[1]), float(sys.argv[2]))
