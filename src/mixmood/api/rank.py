"""`mixmood.rank`: pools in, a ranking that can show itself out."""

import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixmood.core.cache.features import open_cache
from mixmood.core.files.atomic import written
from mixmood.core.progress import Progress, Silent
from mixmood.core.records.ranking import Ranking
from mixmood.data.pools.candidates import open_candidates
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import FeatureSource

if TYPE_CHECKING:
    from mixmood.ranking.reading import Reading

    Sight = tuple[Reading, Mapping[str, Reading]]


class RankReport(Ranking):
    """A ranking that can show itself."""

    # Not fields: they are no part of the record, its JSON or its equality.
    _sight: "Sight | None" = None
    _elapsed_s: float | None = None

    @classmethod
    def of(cls, ranking: Ranking, sight: "Sight", elapsed_s: float) -> "RankReport":
        """The report of a ranking, able to look once more at the images that were read."""
        report = cls(**vars(ranking))
        object.__setattr__(report, "_sight", sight)
        object.__setattr__(report, "_elapsed_s", elapsed_s)
        return report

    def to_html(self, path: str | Path | None = None, *, command: str | None = None) -> str:
        """One self-contained page with pictures; also written to `path`, if one is given."""
        from mixmood.ranking.pictures.gather import gather
        from mixmood.report.ranking.page import ranking_page

        extras = None if self._sight is None else gather(*self._sight)
        return written(ranking_page(self, extras, command, self._elapsed_s), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """The record as JSON text; also written to `path`, if one is given."""
        return written(super().to_json(), path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """One row for each pool and measure; also written to `path`, if one is given."""
        from mixmood.report.ranking.csv import ranking_csv

        return written(ranking_csv(self), path)

    def to_text(self, width: int = 100) -> str:
        """The table of the command line, without colours."""
        from mixmood.report.ranking.text import plain_text, ranking_view

        return plain_text(ranking_view(self, is_plain=True), width)


def rank(
    labelled: Any,
    candidates: Mapping[str, Any] | Sequence[Any],
    *,
    measures: Sequence[str] | str = ("cosine",),
    backbone: str = "efficientnet-lite0",
    resolution: int | None = None,
    sample_size: int = 80,
    draws: int = 30,
    seed: int = 0,
    jobs: int | None = None,
    cache: str | Path | None = "default",
    until: float | None = None,
    paper: bool = False,
    progress: Progress | None = None,
) -> RankReport:
    """Which pool of unlabelled images is nearest to the labelled set, and how sure that is.

    Args:
        labelled: The labelled images: a path, an array, a data set (see `mixmood rank --help`).
        candidates: The pools: a dictionary from names to the same kinds of things, or a list.
        measures: One or several of `mixmood.measures.MEASURES`, or "all"; the first one ranks.
        backbone: The name of a backbone, or the path of an ONNX file.
        resolution: Pixels a side that the backbone sees; its default if None.
        sample_size: Images per draw (tau).
        draws: Number of draws (C).
        seed: Decides every random choice.
        jobs: Threads; all cores if None.
        cache: A directory that keeps features between runs, or None for none.
        until: Stop reading when the nearest pool's chance of being the nearest reaches this.
        paper: Make every open choice as the paper's authors' code had it.
        progress: Told of every image read.
    """
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.ranking.rank import rank as rank_pools
    from mixmood.ranking.statistics.score import Plan

    names = (measures,) if isinstance(measures, str) else tuple(measures)
    plan = Plan(names, sample_size, draws, seed, paper)
    seen: list[Sight] = []
    with open_cache(cache) or nullcontext() as store:
        base = open_pool(labelled, seed=seed, cache=store, role="labelled set")
        pools = open_candidates(candidates, base, seed, store)
        needs_backbone = not isinstance(base, FeatureSource)
        network = load_backbone(backbone, resolution) if needs_backbone else None
        start = time.perf_counter()
        record = rank_pools(
            base,
            pools,
            plan,
            backbone=network,
            jobs=jobs,
            cache=store,
            until=until,
            progress=progress or Silent(),
            observe=lambda *sight: seen.append(sight),
        )
    for message in store.warnings if store and needs_backbone else ():
        # Not part of the record: what became of a cache does not change the ranking.
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return RankReport.of(record, seen[0], time.perf_counter() - start)
