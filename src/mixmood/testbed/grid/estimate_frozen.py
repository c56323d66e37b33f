"""How long the frozen runs of a test bed will take: times of an image, of a pool and of heads."""

import time
from collections.abc import Sequence

import numpy as np

from mixmood.core.arrays import Array
from mixmood.data.splits import NONE, Split, draw_split
from mixmood.testbed.runs.distances import LabelledDraws, distance_plan, features_of
from mixmood.testbed.runs.outlook import RunOutlook, probed_algorithm
from mixmood.testbed.runs.run import Job, batches

N_IMAGES = 32
"""Images that the backbone is timed with."""


def frozen_s(jobs: Sequence[Job]) -> float:
    """Seconds of one core for all frozen runs with an empty feature cache.

    Images that several seeds share are counted for each seed, so that it is an upper bound.
    """
    job = max(jobs, key=lambda job: job.run.n_labelled)
    start = time.perf_counter()
    split = draw_split(job.run.scenario(job.config), job.home)
    split_s = time.perf_counter() - start
    image_s, width = _image_s(job, split)
    rng = np.random.default_rng(0)
    labelled, pool = (
        rng.random((n, width), np.float32) for n in (len(split.labelled), len(split.unlabelled))
    )
    start = time.perf_counter()
    LabelledDraws(labelled, distance_plan(job)).quickly_measured(pool)
    outlook = RunOutlook(labelled, split.labels, len(split.class_names), job.run.seed)
    share = outlook.share(pool)
    pool_s = time.perf_counter() - start + split_s
    heads = {one.run.algorithm: one.run.is_supervised for one in jobs}
    head_s = {name: _head_s(name, labelled, split, pool) for name in heads}
    for name, is_supervised in heads.items():
        start = time.perf_counter()
        if not is_supervised:
            outlook.probe(pool, probed_algorithm(name), share)
        head_s[name] += time.perf_counter() - start
    n_pools = len({one.run.scenario(one.config) for one in jobs if not one.run.is_supervised})
    n_images = sum(_n_images(batch, split) for batch in batches(jobs))
    return n_images * image_s + n_pools * pool_s + sum(head_s[one.run.algorithm] for one in jobs)


def _image_s(job: Job, split: Split) -> tuple[float, int]:
    """Seconds of the backbone for one image, and the number of its features."""
    section = job.config.frozen
    alone = Job(job.key, job.data, job.config, job.run, job.home, cache=None)
    some = split.test[:N_IMAGES]
    features_of(alone, some[:1], section.backbone, section.resolution)
    start = time.perf_counter()
    found = features_of(alone, some, section.backbone, section.resolution)
    return (time.perf_counter() - start) / len(some), found.shape[1]


def _head_s(name: str, labelled: Array, split: Split, pool: Array) -> float:
    from mixmood.heads.registry import fit_head

    start = time.perf_counter()
    rng = np.random.default_rng(0)
    fit_head(name, labelled, split.labels, len(split.class_names), pool, rng)
    return time.perf_counter() - start


def _n_images(batch: Sequence[Job], split: Split) -> int:
    """Images that a batch adds: all images of a split for clean pools, else the foreign images."""
    scenarios = [job.run.scenario(job.config) for job in batch]
    if batch[0].run.source != NONE:
        return max(scenario.n_ood for scenario in scenarios)
    n_labelled = max(scenario.n_labelled for scenario in scenarios)
    return n_labelled + max(scenario.n_inliers for scenario in scenarios) + len(split.test)
