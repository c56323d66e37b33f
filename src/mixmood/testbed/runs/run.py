"""One run: a configuration, a cell and a seed in, a record out. It writes nothing."""

import hashlib
import json
import math
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixmood.core.errors import InputError, MixmoodError
from mixmood.core.version import __version__
from mixmood.data.splits.split import Split, data_fingerprint, draw_split
from mixmood.testbed.grid.cells import Run
from mixmood.testbed.grid.config import SCRATCH, Config
from mixmood.testbed.runs.record import SCHEMA, AnyRecord, FailedRun, RunError, RunRecord

if TYPE_CHECKING:
    from mixmood.ssl.output.record import TrainingRecord

PACKAGES = ("numpy", "scipy", "torch", "onnxruntime", "pillow", "scikit-learn")

Results = Callable[["Job"], dict[str, Any]]
"""The part of a record that depends on the regime."""


@dataclass(frozen=True)
class Job:
    """All that a worker needs: it can be pickled and sent to another machine.

    `data` is the fingerprint of the data sets as the driver sees them; `key`, a digest of it and
    of the whole configuration, is the name of the run's record.
    """

    key: str
    data: str
    config: Config
    run: Run
    home: Path | None = None
    cache: str | None = "default"
    threads: int = 1
    device: str = "cpu"


def job_for(config: Config, run: Run, home: Path | None = None, **options: Any) -> Job:
    """The job of a run; reads its data sets, to distinguish them from others of the same name."""
    data = data_fingerprint(run.scenario(config), home)
    content = {"protocol": config.protocol(run.regime), "run": run.to_dict(), "data": data}
    text = json.dumps({"schema": SCHEMA} | content, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:20]
    return Job(key, data, config, run, home, **options)


def batches(jobs: Sequence[Job]) -> list[tuple[Job, ...]]:
    """Jobs that one worker should do together, in the order of their first ones.

    Frozen runs of one task, source and seed share their images: their features and the distances
    of their pools are computed once. Runs of the same pool come one after the other. A run from
    scratch is alone.
    """
    found: dict[object, list[Job]] = {}
    for job in jobs:
        run = job.run
        together = (run.task, run.source, run.contamination, run.seed)
        found.setdefault(job.key if run.regime == SCRATCH else together, []).append(job)
    return [tuple(sorted(own, key=_pool_order)) for own in found.values()]


def _pool_order(job: Job) -> tuple[int, float]:
    return job.run.n_labelled, job.run.percent


def execute_batch(jobs: Sequence[Job]) -> list[AnyRecord]:
    """The records of jobs that are done together."""
    from mixmood.testbed.runs.frozen import FrozenPools, frozen_results

    if jobs[0].run.regime == SCRATCH:
        return [execute(job) for job in jobs]
    pools = FrozenPools()
    return [execute(job, partial(frozen_results, pools=pools)) for job in jobs]


def execute(job: Job, results: Results | None = None) -> AnyRecord:
    """The record of a run; of one that ends with an error, the record of its failure."""
    start = time.perf_counter()
    try:
        content = _head(job) | (results or _results)(job)
        content["times"]["total_s"] = time.perf_counter() - start
        return RunRecord.model_validate_json(json.dumps(content))
    except Exception as error:
        # Whatever goes wrong in one run, a bug included, must not stop the others.
        return failure(job, error, time.perf_counter() - start)


def failure(job: Job, error: Exception, elapsed_s: float = 0.0) -> FailedRun:
    """The record of a run that ended with an error."""
    is_known = isinstance(error, MixmoodError)
    message = str(error) if is_known else "".join(traceback.format_exception(error))
    return FailedRun(
        **_head(job) | {"run": job.run},
        error=RunError(kind=type(error).__name__, message=message),
        times={"total_s": elapsed_s},
    )


def _head(job: Job) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "mixmood": __version__,
        "versions": versions(),
        "key": job.key,
        "run": job.run.to_dict(),
        "data": job.data,
    }


def versions() -> dict[str, str]:
    """The versions of the packages that decide the numbers."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    return found


def drawn(job: Job) -> Split:
    """The split of a job; InputError if the data sets are not those that the driver has."""
    scenario = job.run.scenario(job.config)
    if data_fingerprint(scenario, job.home) != job.data:
        raise InputError(
            f"The data sets of {job.run.task} and {job.run.source} are not the same "
            "here as where the test bed was started. Give all machines the same packs."
        )
    return draw_split(scenario, job.home)


def description(job: Job, split: Split) -> dict[str, Any]:
    """The part of a record that describes the images."""
    return {
        "scenario": job.run.scenario(job.config).to_dict(),
        "classes": list(split.class_names),
        "n_test": len(split.test),
        "n_pool": len(split.unlabelled),
        "n_ood": int(split.is_ood.sum()),
    }


def _results(job: Job) -> dict[str, Any]:
    from mixmood.ssl.loop.threads import limit_threads
    from mixmood.testbed.runs.distances import pool_distances

    limit_threads(job.threads)
    split = drawn(job)
    start = time.perf_counter()
    distances = None if job.run.is_supervised else pool_distances(job, split)
    distances_s = time.perf_counter() - start
    trained = train_on(job, split)
    return description(job, split) | {
        "training": _without_times(trained),
        "accuracy": {
            "best": trained.accuracy_best,
            "last": trained.accuracy_last,
            "median": trained.accuracy_median,
            "validation": trained.accuracy_selected,
        },
        "distances": distances,
        "times": {
            "training_s": trained.elapsed_s,
            "distances_s": distances_s,
            "images_per_s": trained.images_per_s,
        },
    }


def train_on(job: Job, split: Split) -> "TrainingRecord":
    """What became of training on a split as the job says."""
    from mixmood.ssl.loop.train import train

    section, cell = job.config.training, job.run.cell
    n_updates = section.epochs * math.ceil(job.config.split.n_unlabelled / section.batch_size)
    plan = section.plan(
        "supervised" if cell.is_supervised else cell.algorithm,
        # Counted, so that a pool made larger by contamination gets no more updates.
        updates=None if cell.algorithm == "supervised-epochs" else n_updates,
        device=job.device,
        threads=job.threads,
        seed=job.run.seed,
    )
    has_validation = len(split.validation) > 0
    return train(
        split.labelled,
        split.labels,
        None if cell.is_supervised else split.unlabelled,
        split.test,
        split.test_labels,
        validation=(split.validation, split.validation_labels) if has_validation else None,
        class_names=split.class_names,
        plan=plan,
    ).record


def _without_times(trained: "TrainingRecord") -> dict[str, Any]:
    """The part of a training record that is the same whenever it is repeated."""
    epochs = [
        {key: value for key, value in asdict(epoch).items() if key != "elapsed_s"}
        for epoch in trained.epochs
    ]
    return {
        "configuration": trained.configuration,
        "n_parameters": trained.n_parameters,
        "device": trained.device,
        "n_threads": trained.n_threads,
        "best_epoch": trained.best_epoch,
        "selected_epoch": trained.selected_epoch,
        "epochs": epochs,
    }
