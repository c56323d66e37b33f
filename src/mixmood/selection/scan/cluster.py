"""A scan on a cluster: Ray Data distributes ranges, actors score them, the driver writes the parts.

Ray schedules, retries and restarts. A part is named by its range: parts may come back in any
order, and parts that are written when the driver dies are kept. The nodes need to share only the
source of the pool, such as a network folder.
"""

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.errors import InputError, MissingExtraError, MixmoodError, reason
from mixmood.core.listener import Listener, Silent
from mixmood.data.open import open_pool
from mixmood.features.backbones.backbone import network_digest
from mixmood.jobs.cluster import RaySpread
from mixmood.selection.scan.local import Scan
from mixmood.selection.scan.parts import packed_part, write_packed
from mixmood.selection.scorer import packed_scorer, unpacked_scorer

ADDRESS = "RAY_ADDRESS"
"""The variable that names the cluster, as for every program that uses Ray."""
ACTOR_CPUS = 0.9
"""Below 1: actors that take all processors leave none for Ray Data's own tasks, and it hangs."""
BLOCKS_PER_ACTOR = 64
"""The ranges of each actor come in at most so many blocks: a million would slow the driver down."""


@dataclass(frozen=True)
class SharedPool:
    """The arguments with which a worker on another machine opens the pool.

    Attributes:
        source: A path that all nodes see, a URL or an object.
        fingerprint: The fingerprint that the pool must have on the worker.
        seed: Of a noise pool.
        frames: Which frames of a DICOM file are used.
    """

    source: Any
    fingerprint: str
    seed: int = 0
    frames: str = "middle"


class ScanWorker:
    """An actor: it opens the pool and loads the backbone once, then scores ranges."""

    def __init__(self, shared: SharedPool, scorer: bytes, device: str) -> None:
        """Open nothing yet: an error during a call can be returned to the driver."""
        self._shared, self._scorer, self._device = shared, scorer, device

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The parts of the ranges of a batch, as the bytes of their files."""
        starts, stops = batch["start"].tolist(), batch["stop"].tolist()
        parts, problem = [b""] * len(starts), ""
        try:
            for k, (start, stop) in enumerate(zip(starts, stops, strict=True)):
                parts[k] = packed_part(self._scan.scored(start, stop, Silent()))
        except MixmoodError as error:
            # Returned as a value: Ray would wrap an exception, repeat the call and log it.
            problem = str(error)
        except Exception as error:
            # Ray's own text for it is a page in which the cause is hard to find.
            problem = _failure(f"{type(error).__name__}: {reason(error)}")
        contents = np.array(parts, dtype=object)
        return {**batch, "part": contents, "problem": np.full(len(starts), problem)}

    @cached_property
    def _scan(self) -> Scan:
        from mixmood.features.backbones.registry import load_backbone

        shared, scorer = self._shared, unpacked_scorer(self._scorer)
        pool = open_pool(shared.source, seed=shared.seed, frames=shared.frames)
        if pool.fingerprint != shared.fingerprint:
            raise InputError(
                f"{pool.name} holds other images on a worker than here. All nodes must see the "
                "same files under the same path."
            )
        backbone = None
        if scorer.backbone:
            backbone = load_backbone(scorer.backbone_name, scorer.resolution, self._device)
            if network_digest(backbone) != scorer.backbone:
                raise InputError(
                    f"The backbone {scorer.backbone_name} differs on a worker. Install the same "
                    "version of mixmood on all nodes."
                )
        return Scan(scorer.scaled(pool), scorer, backbone, jobs=1, cache=None)


def scan_ray(
    scan: Scan,
    shared: SharedPool,
    ranges: Sequence[tuple[int, int]],
    folder: Path,
    progress: Listener,
) -> None:
    """Score every range on the cluster at RAY_ADDRESS, or on a Ray started here, and write it.

    Args:
        scan: Pool, scorer and backbone; `jobs` is the number of actors. If it is None, there is
            one for each core, or for each GPU if the backbone uses GPUs.
        shared: How workers on other machines open the same pool.
        ranges: The first index of each part, and the index after its last one.
        folder: Where the driver writes the parts; workers need not see it.
        progress: Called after every block of ranges.
    """
    if not ranges:
        return
    # Ray's processes would log to our stderr; errors of calls are returned anyway.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    ray = RaySpread(os.environ.get(ADDRESS) or None).connected(scan.jobs or 0)
    try:
        unit = "GPU" if device_of(scan) == "cuda" else "CPU"
        n_actors = scan.jobs or max(1, int(ray.cluster_resources().get(unit, 1)))
        for batch in _scored(ray, scan, shared, ranges, n_actors):
            for start, content in zip(batch["start"].tolist(), batch["part"], strict=True):
                write_packed(folder, start, bytes(content))
            progress.advance(scan.pool.name, int((batch["stop"] - batch["start"]).sum()))
    finally:
        ray.shutdown()


def device_of(scan: Scan) -> str:
    """Where the backbone of a scan computes."""
    return str(getattr(scan.backbone, "device", "cpu"))


def actor_resources(device: str) -> dict[str, float]:
    """The resources that Ray reserves for an actor: a part of a core, and a GPU if one is used."""
    return {"num_cpus": ACTOR_CPUS, **({"num_gpus": 1.0} if device == "cuda" else {})}


def _scored(
    ray: Any, scan: Scan, shared: SharedPool, ranges: Sequence[tuple[int, int]], n_actors: int
) -> Iterator[dict[str, Any]]:
    """Blocks of scored ranges, in the order in which they are finished."""
    data = _ray_data()
    n_actors = min(n_actors, len(ranges))
    rows = [{"start": start, "stop": stop} for start, stop in ranges]
    n_blocks = min(len(rows), BLOCKS_PER_ACTOR * n_actors)
    device = device_of(scan)
    scored = data.from_items(rows, override_num_blocks=n_blocks).map_batches(
        ScanWorker,
        fn_constructor_args=(shared, packed_scorer(scan.scorer), device),
        batch_size=None,
        batch_format="numpy",
        compute=data.ActorPoolStrategy(size=n_actors),
        **actor_resources(device),
    )
    try:
        for batch in scored.iter_batches(batch_size=None, batch_format="numpy"):
            if problem := str(batch["problem"][0]):
                raise InputError(problem)
            yield batch
    except ray.exceptions.RayError as error:
        raise InputError(_failure(reason(error))) from error


def _failure(cause: str) -> str:
    return f"The scan failed on a worker: {cause}. Continue it with --resume."


def _ray_data() -> Any:
    """The module `ray.data`, with its progress bars, warnings and log messages off."""
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
