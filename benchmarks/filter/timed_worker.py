"""A worker of the scan on Ray that records its time; Ray workers must be able to import it."""

import time
from dataclasses import replace

from mixmood.jobs.local import Outcome
from mixmood.selection.cluster import ScanWorker


class TimedWorker(ScanWorker):
    """A worker that also returns when it scored, and its processor time."""

    def scored(self, part: tuple[int, int]) -> tuple[tuple[int, int], Outcome]:
        """The outcome of a range; its key is the times of begin and end, and processor time."""
        began, before = time.time(), time.process_time()
        part, outcome = super().scored(part)
        spans = (began, time.time(), time.process_time() - before)
        return part, replace(outcome, key=" ".join(map(repr, spans)))
