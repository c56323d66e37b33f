"""A scan on this machine: range after range is embedded, scored and written."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mixmood.core.cache.features import FeatureCache
from mixmood.core.listener import Listener, Recorder
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

    def scored(self, start: int, stop: int, progress: Listener) -> ScanPart:
        """The results for the images `start` to `stop` - 1."""
        extractor = Extractor(self.backbone, self.jobs, self.cache, _RangeProgress(progress))
        found = extractor.read(self.pool, np.arange(start, stop))
        problems = {index - start: text[:LONGEST_PROBLEM] for index, text in found.unreadable}
        return self.scorer.part(found.features, found.rows - start, found.n_tried, problems)


def scan_local(
    scan: Scan, ranges: Iterable[tuple[int, int]], folder: Path, progress: Listener
) -> None:
    """Score and write every range; parts that are written when it is stopped are kept."""
    for start, stop in ranges:
        write_part(folder, start, scan.scored(start, stop, progress))


class _RangeProgress(Recorder):
    """The progress of one range, shown in the bar of the whole scan."""

    def start(self, task: str, total: int | None) -> None:
        """Do nothing: the bar of the scan has started already."""

    def finish(self, task: str) -> None:
        """Do nothing: other ranges follow."""
