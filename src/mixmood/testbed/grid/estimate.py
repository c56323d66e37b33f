"""How long a test bed will take, from a few timed updates, tests and distances."""

import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from mixmood.data.readers.array import ImageArray
from mixmood.data.splits import Split, draw_split
from mixmood.testbed.grid.cells import Run
from mixmood.testbed.grid.config import FROZEN, TUNED, TrainingSection, TunedSection
from mixmood.testbed.grid.estimate_frozen import frozen_s
from mixmood.testbed.runs.distances import (
    distance_plan,
    loaded_backbone,
    measured,
    n_measured,
)
from mixmood.testbed.runs.network import n_updates_of, train_on
from mixmood.testbed.runs.outlook import RunOutlook, probed_algorithm
from mixmood.testbed.runs.run import Job

TRIES = (1, 4)
"""Updates of a first measurement, and of a second if the first was quick."""
PATIENCE_S = 2.0
MOST_START_S = 60.0
"""A worker that takes longer to start is not waited for."""
SUPERVISED = "supervised"
WORKER = "; ".join(
    f"import mixmood.{module}"
    for module in ("features.backbones.onnx.network", "ranking.statistics.score", "ssl.train")
)
N_IMAGES = 32
"""Images that testing and the backbone are timed with."""


@dataclass(frozen=True)
class TimeEstimate:
    """Estimated seconds of one core.

    Attributes:
        start_s: For a worker to start.
        update_s: For one update with a pool; None if no network is trained.
        run_s: For one run, on average.
        total_s: For all runs.
    """

    start_s: float
    update_s: float | None
    run_s: float
    total_s: float

    def wall_s(self, n_jobs: int) -> float:
        """Seconds until all runs are done, with `n_jobs` parallel runs."""
        return self.start_s + self.total_s / n_jobs


@dataclass(frozen=True)
class _Costs:
    """The measured parts of the time of a run."""

    split_s: float
    update_s: float
    """Of one update."""
    test_s: float
    """Of testing one image."""
    distances_s: float
    n_tested: int
    """Images that are tested in each epoch."""

    def run_s(self, job: Job) -> float:
        testing_s = _section(job).epochs * self.n_tested * self.test_s
        training_s = n_updates_of(job) * self.update_s + testing_s
        return self.split_s + training_s + self.distances_s


def estimate(jobs: list[Job]) -> TimeEstimate:
    """The time of the jobs; the first job of each regime and algorithm stands for the others."""
    frozen = [job for job in jobs if job.run.regime == FROZEN]
    trained = [job for job in jobs if job.run.regime != FROZEN]
    frozen_total_s = frozen_s(frozen) if frozen else 0.0
    update_s, total_s = _trained_s(trained) if trained else (None, 0.0)
    total_s += frozen_total_s
    return TimeEstimate(_start_s(), update_s, total_s / len(jobs), total_s)


def _trained_s(jobs: list[Job]) -> tuple[float, float]:
    """Seconds of an update, and of all runs that train a network."""
    from mixmood.ssl.train import limit_threads

    limit_threads(jobs[0].threads)
    first = {_kind(job): job for job in reversed(jobs)}
    costs = {kind: _timed(job) for kind, job in first.items()}
    total_s = sum(costs[_kind(job)].run_s(job) for job in jobs)
    shown = next((kind for kind in costs if kind[1] != SUPERVISED), next(iter(costs)))
    return costs[shown].update_s, total_s


def _kind(job: Job) -> tuple[str, str]:
    """Regime and algorithm, which decide the time of an update; both baselines are one kind."""
    is_supervised = job.run.cell.is_supervised
    return job.run.regime, SUPERVISED if is_supervised else job.run.cell.algorithm


def _start_s() -> float:
    """Seconds that a new process needs to import everything, as workers do."""
    start = time.perf_counter()
    with suppress(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", WORKER], check=False, timeout=MOST_START_S)
    return time.perf_counter() - start


def _timed(job: Job) -> _Costs:
    start = time.perf_counter()
    split = draw_split(job.run.scenario(job.config), job.home)
    split_s = time.perf_counter() - start
    update_s, test_s = _training(job, split)
    distances_s = 0.0 if job.run.cell.is_supervised else _distances_s(job, split)
    n_tested = len(split.test) + len(split.validation)
    return _Costs(split_s, update_s, test_s, distances_s, n_tested)


def _training(job: Job, split: Split) -> tuple[float, float]:
    """Seconds of an update, and of testing one image."""
    few = replace(
        split,
        test=split.test[:N_IMAGES],
        test_labels=split.test_labels[:N_IMAGES],
        validation=split.validation[:0],
        validation_labels=split.validation_labels[:0],
    )
    update_s = test_s = 0.0
    for n_updates in TRIES:
        start = time.perf_counter()
        record = train_on(_shortened(job, n_updates), few)
        update_s = _images_per_update(job) / record.images_per_s
        test_s = max(0.0, record.elapsed_s - n_updates * update_s) / len(few.test)
        if time.perf_counter() - start > PATIENCE_S:
            break
    return update_s, test_s


def _images_per_update(job: Job) -> int:
    """Labelled and unlabelled images of an update, as `images_per_s` of a record counts them."""
    section, run = _section(job), job.run
    if run.is_supervised:
        return section.batch_size
    ratio = section.settings.get(run.algorithm, {}).get("unlabelled_ratio", 1)
    return section.batch_size * (1 + int(ratio))


def _section(job: Job) -> TrainingSection | TunedSection:
    return job.config.tuned if job.run.regime == TUNED else job.config.training


def _shortened(job: Job, n_updates: int) -> Job:
    """The same job with `n_updates` updates and one test."""
    config, cell = job.config, job.run.cell
    training = config.training.model_copy(update={"epochs": 1})
    tuned = config.tuned.model_copy(update={"epochs": 1, "updates": n_updates})
    n_images = n_updates * training.batch_size
    split = config.split.model_copy(update={"n_unlabelled": n_images})
    if cell.is_supervised:
        cell = replace(cell, algorithm="supervised-updates")
    short = config.model_copy(update={"training": training, "tuned": tuned, "split": split})
    return replace(job, config=short, run=Run.of(cell, job.run.seed))


def _distances_s(job: Job, split: Split) -> float:
    """Seconds of a run's features, distances, share and probe."""
    from mixmood.features.sample import Extractor

    section, plan = job.config.distances, distance_plan(job)
    n_pool = min(len(split.unlabelled), n_measured(plan))
    backbone = loaded_backbone(section.backbone, section.resolution)
    some = np.arange(min(N_IMAGES, len(split.unlabelled)))
    start = time.perf_counter()
    width = (
        Extractor(backbone, 1).read(ImageArray(split.unlabelled, "pool"), some).features.shape[1]
    )
    image_s = (time.perf_counter() - start) / len(some)
    rng = np.random.default_rng(0)
    both = (rng.random((n, width), np.float32) for n in (len(split.labelled), n_pool))
    start = time.perf_counter()
    labelled, pool = next(both), next(both)
    measured(labelled, pool, plan)
    outlook = RunOutlook(labelled, split.labels, len(split.class_names), job.run.seed)
    outlook.probe(pool, probed_algorithm(job.run.algorithm), outlook.share(pool))
    return time.perf_counter() - start + image_s * (len(split.labelled) + n_pool)
