"""A scan on a cluster: Ray Data hands out ranges, its actors write the parts.

Ray schedules, retries and restarts; nothing else depends on it. A part is named by its range, and
lies in a folder that all nodes see: the order in which parts come does not matter, and what is
written when the driver dies is kept.
"""

import logging
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.errors import InputError, MissingExtraError, MixmoodError, reason
from mixmood.core.progress import Progress, Silent
from mixmood.data.pools.open import open_pool
from mixmood.jobs.cluster import RaySpread
from mixmood.selection.scan.local import Scan
from mixmood.selection.scan.parts import FILTER, has_part, write_part
from mixmood.selection.scorer import load_scorer, save_scorer

ADDRESS = "RAY_ADDRESS"
"""The variable that names the cluster, as for every program that uses Ray."""
ACTOR_CPUS = 0.9
"""Below 1: actors that hold all processors leave none for Ray Data's own tasks, and it hangs."""
BLOCKS_PER_ACTOR = 64
"""Ranges go out in so many blocks for each actor: a million blocks would burden the driver."""


@dataclass(frozen=True)
class ScanOrder:
    """All that a worker on another machine needs to score ranges.

    Attributes:
        source: What the pool is opened from: a path that all nodes see, a URL or an object.
        seed: Of a noise pool.
        fingerprint: What the pool's must be there.
        folder: Where the parts and the fitted filter are, on all nodes.
        device: Where the backbone computes.
    """

    source: Any
    seed: int
    fingerprint: str
    folder: Path
    device: str = "cpu"


class ScanWorker:
    """An actor: it opens the pool and loads filter and backbone once, then scores ranges."""

    def __init__(self, order: ScanOrder) -> None:
        """Open nothing yet: an error then belongs to a call, and can be handed to the driver."""
        self._order = order

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Score the ranges of a batch and write their parts; those that are there are left."""
        n_images = batch["stop"] - batch["start"]
        try:
            for start, stop in zip(batch["start"].tolist(), batch["stop"].tolist(), strict=True):
                self._score(start, stop)
        except MixmoodError as error:
            # As a value: Ray would wrap it, repeat the call and write about it.
            return {"n_images": n_images, "problem": np.full(len(n_images), str(error))}
        return {"n_images": n_images, "problem": np.full(len(n_images), "")}

    def _score(self, start: int, stop: int) -> None:
        # A block is begun again when its worker dies: what it had written counts.
        if not has_part(self._order.folder, start):
            part = self._scan.scored(start, stop, Silent())
            write_part(self._order.folder, start, part)

    @cached_property
    def _scan(self) -> Scan:
        from mixmood.features.backbones.registry import load_backbone

        order = self._order
        pool = open_pool(order.source, seed=order.seed)
        if pool.fingerprint != order.fingerprint:
            raise InputError(
                f"{pool.name} holds other images on a worker than here. All nodes must see the "
                "same files under the same path."
            )
        scorer = load_scorer(order.folder / FILTER)
        backbone = None
        if scorer.backbone:
            backbone = load_backbone(scorer.backbone_name, scorer.resolution, order.device)
            if backbone.fingerprint != scorer.backbone:
                raise InputError(
                    f"The backbone {scorer.backbone_name} differs on a worker. Install the same "
                    "version of mixmood on all nodes."
                )
        return Scan(pool, scorer, backbone, jobs=1, cache=None)


def scan_ray(
    scan: Scan,
    order: ScanOrder,
    ranges: Sequence[tuple[int, int]],
    progress: Progress,
) -> None:
    """Score and write every range on the cluster at RAY_ADDRESS, or on a Ray started here.

    Args:
        scan: What is scored with what; `jobs` is the number of actors, one for each core if None.
        order: The same for workers elsewhere.
        ranges: First index and the index behind the last of each part.
        progress: Called after every block of ranges.
    """
    if not ranges:
        return
    save_scorer(order.folder / FILTER, scan.scorer)
    # Ray's own processes write their messages to this one's stderr; errors of calls come back.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    ray = RaySpread(os.environ.get(ADDRESS) or None).connected(scan.jobs or 0)
    try:
        n_actors = scan.jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        _run(ray, order, ranges, n_actors, lambda n: progress.advance(scan.pool.name, n))
    finally:
        ray.shutdown()


def _run(
    ray: Any, order: ScanOrder, ranges: Sequence[tuple[int, int]], n_actors: int, done: Any
) -> None:
    data = _ray_data()
    n_actors = min(n_actors, len(ranges))
    rows = [{"start": start, "stop": stop} for start, stop in ranges]
    n_blocks = min(len(rows), BLOCKS_PER_ACTOR * n_actors)
    scored = data.from_items(rows, override_num_blocks=n_blocks).map_batches(
        ScanWorker,
        fn_constructor_args=(order,),
        batch_size=None,
        batch_format="numpy",
        num_cpus=ACTOR_CPUS,
        compute=data.ActorPoolStrategy(size=n_actors),
    )
    try:
        for batch in scored.iter_batches(batch_size=None, batch_format="numpy"):
            if problem := str(batch["problem"][0]):
                raise InputError(problem)
            done(int(np.sum(batch["n_images"])))
    except ray.exceptions.RayError as error:
        raise InputError(
            f"The scan failed on a worker: {reason(error)}. Go on with it by --resume."
        ) from error


def _ray_data() -> Any:
    """The library, without the lines that it writes about its own options and steps."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray.data
            from ray.data import DataContext

            DataContext.get_current().enable_progress_bars = False
    except ImportError as error:
        raise MissingExtraError("--backend ray", "cluster") from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    return ray.data
