"""A scan on a cluster: Ray actors score ranges, the driver writes the parts.

Ray schedules, and restarts an actor that dies. A part is named by its range: parts may come back in
any order, and parts that are written when the driver dies are kept. The nodes need to share only
the source of the pool, such as a network folder.

Ray Data (`from_items(ranges).map(ScanWorker)`) was tried: it takes as many lines, because results
have to be pickled into Arrow columns, needs pandas and pyarrow, logs to stderr, and ten ranges of
features on two cores took 8.7 s instead of 3.1 s.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mixmood.core.errors import InputError, MixmoodError, reason
from mixmood.core.listener import Listener, Silent
from mixmood.data.images.pool import scaled
from mixmood.data.open import open_pool
from mixmood.features.backbones.backbone import network_digest
from mixmood.jobs.cluster import MOST_RETRIES, RaySpread
from mixmood.jobs.local import Call, Outcome, compute
from mixmood.selection.scan import Scan, write_part
from mixmood.selection.scorer import Scorer

ADDRESS = "RAY_ADDRESS"  # the variable that names the cluster, as for every program that uses Ray
Range = tuple[int, int]


@dataclass(frozen=True)
class SharedPool:
    """What a worker on another machine opens the pool with, and the fingerprint it must have."""

    source: Any  # a path that all nodes see, a URL or an object
    fingerprint: str
    seed: int = 0
    frames: str = "middle"


class ScanWorker:
    """An actor: it opens the pool and loads the backbone once, then scores ranges."""

    def __init__(self, shared: SharedPool, scorer: Scorer, device: str) -> None:
        """Open nothing yet: an error during a call can be returned to the driver."""
        self._shared, self._scorer, self._device = shared, scorer, device

    def scored(self, part: Range) -> tuple[Range, Outcome]:
        """The range, and its ScanPart or the error: Ray would wrap, log and repeat an exception."""
        return part, compute(
            Call("part", lambda own: self._scan.scored(own[0], own[1], Silent()), part)
        )

    @cached_property
    def _scan(self) -> Scan:
        from mixmood.features.backbones.registry import load_backbone

        shared, scorer = self._shared, self._scorer
        pool = open_pool(shared.source, seed=shared.seed, frames=shared.frames)
        if pool.fingerprint != shared.fingerprint:
            raise InputError(
                f"{pool.name} holds other images on a worker than here. All nodes must see the "
                "same files under the same path."
            )
        backbone = None
        if scorer.backbone:
            name, side = scorer.backbone_name, scorer.resolution
            backbone = load_backbone(name, side, self._device, scorer.depth)
            if network_digest(backbone) != scorer.backbone:
                raise InputError(
                    f"The backbone {scorer.backbone_name} differs on a worker. Install the same "
                    "version of mixmood on all nodes."
                )
        return Scan(scaled(pool, scorer.pixel_range), scorer, backbone, jobs=1, cache=None)


def scan_ray(
    scan: Scan, shared: SharedPool, ranges: Sequence[Range], folder: Path, progress: Listener
) -> None:
    """Score every range on the cluster at RAY_ADDRESS, or on a Ray started here, and write it.

    `scan.jobs` is the number of actors: by default one for each core, or for each GPU if the
    backbone uses GPUs.
    """
    if not ranges:
        return
    # Ray's processes would log to our stderr; errors of calls are returned anyway.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    ray = RaySpread(os.environ.get(ADDRESS) or None).connected(scan.jobs or 0)
    try:
        for (start, stop), outcome in _outcomes(ray, scan, shared, ranges):
            if isinstance(outcome.error, MixmoodError):
                raise outcome.error
            if outcome.error is not None:
                cause = f"{type(outcome.error).__name__}: {reason(outcome.error)}"
                raise _failure(cause) from outcome.error
            write_part(folder, start, outcome.value)
            progress.advance(scan.pool.name, stop - start)
    except ray.exceptions.RayError as error:
        raise _failure(reason(error)) from error
    finally:
        ray.shutdown()


def _outcomes(
    ray: Any, scan: Scan, shared: SharedPool, ranges: Sequence[Range]
) -> Iterator[tuple[Range, Outcome]]:
    """The outcomes of all ranges, in the order in which they are finished."""
    from ray.util import ActorPool

    device = str(getattr(scan.backbone, "device", "cpu"))
    is_gpu = device == "cuda"
    n_units = ray.cluster_resources().get("GPU" if is_gpu else "CPU", 1)
    n_actors = min(scan.jobs or max(1, int(n_units)), len(ranges))
    retries = {"max_restarts": MOST_RETRIES, "max_task_retries": MOST_RETRIES}
    actor = ray.remote(num_cpus=1, num_gpus=float(is_gpu), **retries)(ScanWorker)
    scorer = ray.put(scan.scorer)
    actors = ActorPool([actor.remote(shared, scorer, device) for _ in range(n_actors)])
    yield from actors.map_unordered(lambda worker, part: worker.scored.remote(part), ranges)


def _failure(cause: str) -> InputError:
    return InputError(f"The scan failed on a worker: {cause}. Continue it with --resume.")
