"""`mixmood.filter`: a pool in, its useful part out."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.cache.features import FeatureCache, open_cache
from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.core.files.atomic import check_writable, written
from mixmood.core.plan_options import plan_from, with_options
from mixmood.core.progress import Progress, Silent
from mixmood.core.records.filtering import Filtering
from mixmood.core.records.useful_share import ShareRecord
from mixmood.data.pools.kept import lists_below, located, pool_word
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import FeatureSource, Pool
from mixmood.selection.plan import FilterPlan

if TYPE_CHECKING:
    from mixmood.selection.filter import Decision, FilterJob
    from mixmood.selection.fit import FeatureReader
    from mixmood.selection.scan.parts import PartFolder
    from mixmood.selection.scorer import Scorer


@dataclass(frozen=True, repr=False)
class Kept:
    """What a filter kept of a pool."""

    record: Filtering
    _job: "FilterJob"
    _decision: "Decision"
    _labelled: Pool | None

    @property
    def useful_share(self) -> ShareRecord:
        """The part of the pool that could have come from the labelled classes."""
        return self.record.useful_share

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """The score of every image of the pool, NaN where it could not be read, shape (n,)."""
        return self._decision.scores

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """Which images are kept, shape (n,)."""
        return self._decision.is_kept

    @cached_property
    def paths(self) -> list[str]:
        """What the kept images are called."""
        return [located(self._job.pool, row) for row in np.flatnonzero(self.is_kept).tolist()]

    def to_json(self, path: str | Path | None = None) -> str:
        """The record as JSON text; also written to `path`, if one is given."""
        return written(self.record.to_json(), path)

    def to_html(self, path: str | Path | None = None, *, command: str | None = None) -> str:
        """One self-contained page with pictures; also written to `path`, if one is given."""
        from mixmood.report.filter.page import filter_page
        from mixmood.selection.page_material import gather_filter_material

        material = gather_filter_material(
            self._job, self._decision, self.record.threshold, self._labelled
        )
        return written(filter_page(self.record, material, command), path)

    def __repr__(self) -> str:
        """The number of kept images and the useful share."""
        return (
            f"<Kept {self.record.n_kept} of {self.record.n_images} images of {self.record.pool}; "
            f"useful share {self.useful_share.share:.0%}>"
        )

    def _repr_html_(self) -> str:
        """The lines that the command prints, for notebooks."""
        from html import escape

        from mixmood.report.filter.text import filter_lines

        return "<br>".join(escape(line) for line in filter_lines(self.record))


def filter(
    labelled: Any,
    pool: Any,
    *,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Kept:
    """Which images of a pool are like the labelled ones, with a score for each.

    The options are the fields of `mixmood.selection.plan.FilterPlan`.

    Args:
        labelled: The labelled images; None with `load`.
        pool: The pool to filter.
        out: A .csv, .parquet or .txt list to write; it is a pool for `rank`, `filter`, `train`.
        progress: Called after every image read.
        options: As follows.
    """
    return filter_planned(labelled, pool, out, plan_from(FilterPlan, options), progress)


with_options(filter, FilterPlan)


def filter_planned(
    labelled: Any,
    pool: Any,
    out: str | Path | None,
    plan: FilterPlan,
    progress: Progress | None = None,
) -> Kept:
    """The same for options that have been checked."""
    from mixmood.api.joined.filter_distance import before_and_after
    from mixmood.selection.filter import FilterJob, describe
    from mixmood.selection.fit import FeatureReader
    from mixmood.selection.image_folder import images_of

    target = None if out is None else Path(out)
    _check_paths(labelled, pool, target, plan)
    with open_cache(plan.cache) or nullcontext() as store:
        crawl = open_pool(pool, seed=plan.seed, cache=store)
        if plan.link is not None or plan.copy is not None:
            images_of(crawl)
        network = _network(crawl, plan)
        embedder = FeatureReader(network, plan.jobs, store, progress or Silent())
        base = _labelled_set(labelled, crawl, plan, store)
        scorer = _scorer(base, crawl, plan, embedder)
        if plan.save is not None:
            _save(Path(plan.save), scorer)
        with _part_folder(target, len(crawl)) as parts:
            job = FilterJob(crawl, _findable(pool), plan, scorer, embedder, parts)
            decision = job.run()
            if target is not None:
                _write_list(target, _word(pool, target), job, decision)
                parts.remove()
        _make_folders(job, decision)
        record = describe(job, decision, base.name if base else str(plan.load), _notes(plan))
        if base is not None:
            record = replace(record, distance=before_and_after(base, job, decision))
    return Kept(record, job, decision, base)


def _check_paths(labelled: Any, pool: Any, out: Path | None, plan: FilterPlan) -> None:
    from mixmood.report.filter.lists import writer_for
    from mixmood.selection.image_folder import check_empty

    if (labelled is None) == (plan.load is None):
        raise OptionError("Give the labelled images, or a saved filter with load; not both.")
    for folder in (plan.link, plan.copy):
        if folder is not None:
            check_empty(Path(folder))
    _check_inputs_stay(labelled, pool, out, plan)
    if out is None:
        if plan.resume:
            raise OptionError("resume needs the list of the scan to go on with: give out.")
        return
    writer_for(out)
    check_writable(out)
    _word(pool, out)


def _check_inputs_stay(labelled: Any, pool: Any, out: Path | None, plan: FilterPlan) -> None:
    """Refuse an output that is one of the inputs, or a list that the pool rests on."""
    inputs = [
        Path(what).expanduser().resolve()
        for what in (labelled, pool, plan.load)
        if isinstance(what, str | Path)
    ]
    if isinstance(pool, str | Path):
        inputs += lists_below(Path(pool).expanduser())
    for target in (out, plan.save):
        if target is not None and Path(target).resolve() in inputs:
            raise OptionError(f"{target} is one of the inputs. Name another file to write.")
    if out is not None and plan.save is not None and Path(plan.save).resolve() == out.resolve():
        raise OptionError(f"The list and the saved filter are both {out}. Name two files.")


def _word(pool: Any, out: Path) -> str:
    """How the list names its pool; an object in memory has no place to be found again."""
    is_place = isinstance(pool, str | Path)
    return pool_word(str(pool), out) if is_place else type(pool).__name__


def _findable(pool: Any) -> Any:
    """What a worker with another working directory opens the pool from."""
    if isinstance(pool, str) and ("://" in pool or pool.startswith("noise:")):
        return pool
    return Path(pool).expanduser().resolve() if isinstance(pool, str | Path) else pool


def _network(pool: Pool, plan: FilterPlan) -> Any:
    """What embeds the pool: the backbone asked for, or that of the saved filter."""
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.selection.scorer import load_scorer

    if isinstance(pool, FeatureSource):
        return None
    if plan.load is None:
        return load_backbone(plan.backbone, plan.resolution)
    saved = load_scorer(Path(plan.load))
    return load_backbone(saved.backbone_name, saved.resolution) if saved.backbone else None


def _labelled_set(
    labelled: Any, pool: Pool, plan: FilterPlan, cache: FeatureCache | None
) -> Pool | None:
    """The labelled set; None with a saved filter."""
    if plan.load is not None:
        return None
    base = open_pool(labelled, seed=plan.seed, cache=cache, role="labelled set")
    if isinstance(base, FeatureSource) != isinstance(pool, FeatureSource):
        raise ShapeError(
            f"Features cannot be mixed with images: {base.name} and {pool.name} must both be "
            "features, or both images."
        )
    return base


def _scorer(base: Pool | None, pool: Pool, plan: FilterPlan, embedder: "FeatureReader") -> "Scorer":
    """The scorer: fitted, or loaded where there is no labelled set."""
    from mixmood.selection.fit import fit_scorer
    from mixmood.selection.scorer import load_scorer

    if base is not None:
        return fit_scorer(base, pool, plan, embedder)
    scorer = load_scorer(Path(str(plan.load)))
    found = embedder.backbone.fingerprint if embedder.backbone else ""
    if found != scorer.backbone:
        raise InputError(
            f"{plan.load} was fitted on features of {scorer.backbone_name or 'another kind'}, "
            f"which {pool.name} cannot give here. Fit the filter again."
        )
    return scorer


def _notes(plan: FilterPlan) -> tuple[str, ...]:
    if plan.load is None:
        return ()
    return ("The useful share is that of the pool on which the filter was fitted.",)


def _save(path: Path, scorer: "Scorer") -> None:
    from mixmood.selection.scorer import save_scorer

    check_writable(path)
    save_scorer(path, scorer)


@contextmanager
def _part_folder(out: Path | None, n_images: int) -> Iterator["PartFolder"]:
    from mixmood.selection.scan.parts import PartFolder

    if out is not None:
        yield PartFolder.beside(out, n_images)
        return
    with tempfile.TemporaryDirectory(prefix="mixmood-filter-") as folder:
        yield PartFolder(Path(folder) / "scan", n_images)


def _write_list(out: Path, word: str, job: "FilterJob", decision: "Decision") -> None:
    from mixmood.report.filter.list_rows import ListContent
    from mixmood.report.filter.lists import write_list

    content = ListContent(
        pool=job.pool,
        word=word,
        parts=job.parts,
        reasons=decision.reasons,
        class_names=job.scorer.class_names,
        labelled_names=job.scorer.labelled_names,
    )
    write_list(out, content)


def _make_folders(job: "FilterJob", decision: "Decision") -> None:
    from mixmood.selection.image_folder import fill_folder, images_of

    rows, progress = np.flatnonzero(decision.is_kept), job.embedder.progress
    for folder, with_links in ((job.plan.link, True), (job.plan.copy, False)):
        if folder is not None:
            pool = images_of(job.pool)
            fill_folder(pool, rows, Path(folder), progress, with_links=with_links)
