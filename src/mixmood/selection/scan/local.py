"""A scan on this machine: range after range is embedded, scored and written."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mixmood.core.cache.features import FeatureCache
from mixmood.core.progress import Progress
from mixmood.data.images.pool import Pool
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.sample import Extractor
from mixmood.selection.scan.parts import ScanPart, write_part
from mixmood.selection.scorer import Scorer

LONGEST_PROBLEM = 200


@dataclass(frozen=True)
class Scan:
    """A pool, and what its ranges are scored with."""

    pool: Pool
    scorer: Scorer
    backbone: Backbone | None
    jobs: int | None
    cache: FeatureCache | None

    def scored(self, start: int, stop: int, progress: Progress) -> ScanPart:
        """The results for the images `start` to `stop` - 1."""
        extractor = Extractor(self.backbone, self.jobs, self.cache, _RangeProgress(progress))
        found = extractor.read(self.pool, np.arange(start, stop))
        problems = {index - start: text[:LONGEST_PROBLEM] for index, text in found.unreadable}
        return self.scorer.part(found.features, found.rows - start, found.n_tried, problems)


def scan_local(
    scan: Scan, ranges: Iterable[tuple[int, int]], folder: Path, progress: Progress
) -> None:
    """Score and write every range; parts that are written when it is stopped are kept."""
    for start, stop in ranges:
        write_part(folder, start, scan.scored(start, stop, progress))


class _RangeProgress:
    """The progress of one range, shown in the bar of the whole scan."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def start(self, task: str, total: int | None) -> None:
        """Do nothing: the bar of the scan has started already."""

    def advance(self, task: str, steps: int = 1) -> None:
        """Move the bar of the scan."""
        self._progress.advance(task, steps)

    def finish(self, task: str) -> None:
        """Do nothing: other ranges follow."""
