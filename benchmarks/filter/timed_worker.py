"""A worker of the scan on Ray that records its time; Ray workers must be able to import it."""

import time
from typing import Any

import numpy as np

from mixmood.selection.scan.cluster import ScanWorker


class TimedWorker(ScanWorker):
    """A worker that also returns when it scored, and its processor time."""

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The parts, and three more columns."""
        began, before = time.time(), time.process_time()
        scored = super().__call__(batch)
        span = {"began": began, "ended": time.time(), "cpu_s": time.process_time() - before}
        return {**scored, **{name: np.full(len(batch["start"]), v) for name, v in span.items()}}
