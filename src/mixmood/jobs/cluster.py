"""Calls spread over a cluster by Ray."""

import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mixmood.core.errors import InputError, OptionError, needing, reason
from mixmood.jobs.local import Call, Outcome, compute

MOST_RETRIES = 3  # how often a call is repeated when its worker or node dies

WAIT_S = 10.0

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


@dataclass(frozen=True)
class RaySpread:
    """Spreads calls over the cluster at `address`, or over a Ray started here if it is None."""

    address: str | None = None
    gpus_per_run: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a negative number of GPUs."""
        if self.gpus_per_run < 0:
            raise OptionError(f"gpus_per_run must be 0 or above; got {self.gpus_per_run:g}.")

    def __call__(
        self, calls: Sequence[Call], n_jobs: int, on_start: Callable[[Call], None]
    ) -> Iterator[Outcome]:
        """The outcomes of all calls as they finish; n_jobs 0 runs as many at once as possible."""
        if not calls:
            return
        ray, n_threads = self.connected(n_jobs), calls[0].n_threads
        waiting, running = iter(calls), dict[Any, Call]()
        try:
            at_once = n_jobs or max(1, int(ray.cluster_resources()["CPU"] / n_threads))
            remote = ray.remote(
                num_cpus=n_threads, num_gpus=self.gpus_per_run, max_retries=MOST_RETRIES
            )(compute)
            while True:
                while len(running) < at_once and (call := next(waiting, None)) is not None:
                    on_start(call)
                    running[remote.remote(call)] = call
                if not running:
                    return
                (ready,), _ = ray.wait(list(running), num_returns=1)
                call = running.pop(ready)
                try:
                    yield ray.get(ready)
                except ray.exceptions.RayError as error:
                    # The worker died at every retry; only this call fails.
                    yield Outcome(call.key, error=error)
        finally:
            ray.shutdown()

    def connected(self, n_jobs: int) -> Any:
        """The module `ray`, connected; a Ray started here gets `n_jobs` cores, or all with 0."""
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        with needing("--backend ray", "cluster"):
            import ray
        no_cluster = OptionError(
            f"No Ray cluster answers at '{self.address}'. "
            "Start one with: ray start --head --port=6379"
        )
        host, colon, port = (self.address or "").removeprefix("ray://").rpartition(":")
        try:
            if colon and port.isdecimal():
                # If nothing listens there, Ray itself would retry for minutes.
                socket.create_connection((host, int(port)), timeout=WAIT_S).close()
        except OSError as error:
            raise no_cluster from error
        here = {"num_cpus": n_jobs or None, "include_dashboard": False}
        options = here if self.address is None else {"address": self.address}
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
        except ConnectionError as error:
            raise no_cluster from error
        except Exception as error:
            # Ray raises a bare Exception when a busy machine does not start it in time.
            raise InputError(
                f"Ray could not be started: {reason(error)}. Try again when the machine is less "
                "busy, or use the backend local."
            ) from error
        return ray
