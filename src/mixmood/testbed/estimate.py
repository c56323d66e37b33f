"""How long a test bed will take, from a few timed updates."""

import math
from dataclasses import dataclass

from mixmood.testbed.config import Config
from mixmood.testbed.run import Job

N_TIMED = 4


@dataclass(frozen=True)
class Estimate:
    """Seconds of one core for one update, for one run, and for all runs."""

    update_s: float
    run_s: float
    total_s: float


def estimate(jobs: list[Job], config: Config) -> Estimate:
    """What the jobs take, if all run like the first that trains on a pool."""
    from mixmood.data.split import draw_split
    from mixmood.ssl.threads import limit_threads
    from mixmood.ssl.train import train

    job = next((job for job in jobs if not job.run.cell.is_supervised), jobs[0])
    split = draw_split(job.run.scenario(config), job.home)
    plan = config.training
    limit_threads(job.threads)
    record = train(
        split.labelled,
        split.labels,
        split.unlabelled,
        split.test,
        split.test_labels,
        model=plan.model,
        epochs=1,
        updates=N_TIMED,
        batch_size=plan.batch_size,
        augment=plan.augment,
        device=job.device,
    ).record
    update_s = 2 * plan.batch_size / record.images_per_s
    test_s = max(0.0, record.elapsed_s - N_TIMED * update_s)
    n_updates = plan.epochs * math.ceil(config.split.n_unlabelled / plan.batch_size)
    run_s = n_updates * update_s + plan.epochs * test_s
    return Estimate(update_s, run_s, run_s * len(jobs))
