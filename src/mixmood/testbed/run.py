"""One run: from a configuration, a cell and a seed to a record. It writes no files."""

import hashlib
import json
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from mixmood.core.errors import InputError, MixmoodError, OptionError
from mixmood.core.version import __version__, package_version
from mixmood.data.splits import Split, check_split, data_fingerprint, draw_split
from mixmood.ranking.plan import RankingPlan
from mixmood.testbed.cells import Run
from mixmood.testbed.config import FROZEN, Config
from mixmood.testbed.record import SCHEMA, AnyRecord, FailedRun, RunError, RunRecord

PACKAGES = ("numpy", "scipy", "torch", "onnxruntime", "pillow", "scikit-learn")

Results = Callable[["Job"], dict[str, Any]]  # the part of a record that depends on the regime


@dataclass(frozen=True)
class Job:
    """Everything that a worker needs for a run; it can be pickled and sent to another machine."""

    key: str  # a digest of the protocol, the run and `data`; it is the name of the run's record
    data: str  # the fingerprint of the data sets on the driver's machine
    config: Config
    run: Run
    cache: str | None = "default"
    threads: int = 1
    device: str = "cpu"


def job_for(config: Config, run: Run, **options: Any) -> Job:
    """The job of a run; opens its data sets to compute their fingerprint."""
    data = data_fingerprint(run.scenario(config))
    content = {"protocol": config.protocol(run.regime), "run": run.to_dict(), "data": data}
    text = json.dumps({"schema": SCHEMA} | content, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()[:20]
    return Job(key, data, config, run, **options)


def check_data(jobs: Iterable[Job]) -> None:
    """Refuse cells for which data sets or pools are too small; only one seed is checked."""
    for cell, job in {job.run.cell: job for job in reversed(list(jobs))}.items():
        n_pool = cell.n_unlabelled or job.config.split.n_unlabelled
        size = 0 if cell.is_supervised else distance_plan(job).sample_size
        if n_pool < size:
            raise OptionError(
                f"Distances of {cell.task} with {cell.n_labelled} labels are measured on samples "
                f"of {size} images, but the pool has only {n_pool}. Let distances.sample_size be "
                f"at most {n_pool}, or split.n_unlabelled at least {size}."
            )
        check_split(job.run.scenario(job.config))


def distance_plan(job: Job) -> RankingPlan:
    """The plan of a job's distances, fitted to its number of labelled images."""
    section = job.config.distances
    return RankingPlan(
        measures=tuple(section.measures),
        sample_size=section.sample_size,
        draws=section.draws,
        seed=job.run.seed,
    ).fitted(job.run.n_labelled)


def batches(jobs: Sequence[Job]) -> list[tuple[Job, ...]]:
    """Jobs in batches, one for a worker; frozen runs of one pool are a batch, to share features."""
    found: dict[object, list[Job]] = {}
    for job in jobs:
        is_frozen = job.run.regime == FROZEN
        found.setdefault(job.run.scenario(job.config) if is_frozen else job.key, []).append(job)
    return [tuple(batch) for batch in found.values()]


def execute_batch(jobs: Sequence[Job]) -> list[AnyRecord]:
    """The records of a batch of jobs."""
    from mixmood.testbed.results import FrozenPool, frozen_results

    if jobs[0].run.regime != FROZEN:
        return [execute(job) for job in jobs]
    pool = FrozenPool(jobs[0])
    return [execute(job, partial(frozen_results, pool=pool)) for job in jobs]


def execute(job: Job, results: Results | None = None) -> AnyRecord:
    """The record of a run, or a FailedRun if it ended with an error."""
    from mixmood.testbed.results import network_results

    start, start_cpu = time.perf_counter(), time.process_time()
    try:
        content = _head(job) | (results or network_results)(job)
        content["times"]["total_s"] = time.perf_counter() - start
        content["times"]["cpu_s"] = time.process_time() - start_cpu
        return RunRecord.model_validate_json(json.dumps(content))
    except Exception as error:
        # No error of one run, not even a bug, may stop the other runs.
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
        "versions": {package: package_version(package) or "none" for package in PACKAGES},
        "key": job.key,
        "run": job.run.to_dict(),
        "data": job.data,
    }


def drawn(job: Job) -> Split:
    """The split of a job; InputError if the data sets differ from those of the driver."""
    scenario = job.run.scenario(job.config)
    if data_fingerprint(scenario) != job.data:
        raise InputError(
            f"The data sets of {job.run.task} and {job.run.source} are not the same "
            "here as where the test bed was started. Give all machines the same packs."
        )
    return draw_split(scenario)


def description(job: Job, split: Split) -> dict[str, Any]:
    """The part of a record that describes the images."""
    return {
        "scenario": asdict(job.run.scenario(job.config)),
        "classes": list(split.class_names),
        "n_test": len(split.test),
        "n_pool": len(split.unlabelled),
        "n_ood": int(split.is_ood.sum()),
    }
