"""`mixmood.filter`: the images of a pool that are like the labelled ones."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mixmood.api.joined.backbone_choice import with_choice
from mixmood.api.joined.filter_inputs import (
    check_paths,
    open_inputs,
    reference_for,
    with_absolute_path,
)
from mixmood.api.joined.mlflow_runs import log_filter, mlflow_log
from mixmood.core.cache import open_cache
from mixmood.core.files import check_writable, sweep, written
from mixmood.core.listener import Listener, Silent
from mixmood.core.options import plan_from, with_options
from mixmood.core.records.filtering import Filtering
from mixmood.core.records.ranking import ShareRecord
from mixmood.data.images.names import with_frames_option
from mixmood.data.images.pool import Pool
from mixmood.selection.plan import FilterPlan

if TYPE_CHECKING:
    from mixmood.selection.filter import Decision, FilterJob
    from mixmood.selection.scan import PartFolder
    from mixmood.selection.scorer import Scorer


@dataclass(frozen=True, repr=False)
class Kept:
    """The result of a filter: the kept images of a pool, all scores and the record."""

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
        """The names of the kept images, as the pool gives them."""
        return [self._job.pool.locate(row) for row in np.flatnonzero(self.is_kept).tolist()]

    def to_json(self, path: str | Path | None = None) -> str:
        """The record as JSON text; also written to `path`, if one is given."""
        return written(self.record.to_json(), path)

    def to_html(self, path: str | Path | None = None, *, command: str | None = None) -> str:
        """One self-contained page with pictures; also written to `path`, if one is given."""
        from mixmood.report.filter import filter_page
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

        from mixmood.report.filter import filter_lines

        return "<br>".join(escape(line) for line in filter_lines(self.record))


def filter(
    labelled: Any,
    pool: Any,
    *,
    out: str | Path | None = None,
    listener: Listener | None = None,
    **options: Any,
) -> Kept:
    """Which images of a pool are like the labelled ones, with a score for each.

    The options are the fields of `mixmood.selection.plan.FilterPlan`.

    Args:
        labelled: The labelled images; None with `load`.
        pool: The pool to filter.
        out: A .csv, .parquet or .txt list to write; it is a pool for `rank`, `filter`, `train`.
        listener: Gets progress, warnings and notes.
        options: As follows.
    """
    return filter_planned(labelled, pool, out, plan_from(FilterPlan, options), listener)


with_options(filter, FilterPlan)


def filter_planned(
    labelled: Any,
    pool: Any,
    out: str | Path | None,
    plan: FilterPlan,
    listener: Listener | None = None,
) -> Kept:
    """`filter` with its options as a checked plan."""
    from mixmood.api.joined.filter_effects import before_and_after
    from mixmood.features.sample import Extractor
    from mixmood.report.filter import check_names
    from mixmood.selection.filter import FilterJob, describe

    target = None if out is None else Path(out)
    check_paths(labelled, pool, target, plan)
    if target is not None and plan.resume:
        sweep(target.parent, target.name)
    log, listener = mlflow_log(plan.mlflow), listener or Silent()
    with open_cache(plan.cache, listener) or nullcontext() as store:
        inputs = open_inputs(labelled, pool, plan, store, listener)
        base, plan = inputs.labelled, inputs.settled(plan)
        if target is not None:
            check_names(target, (inputs.pool.locate(row) for row in range(len(inputs.pool))))
        extractor = Extractor(inputs.backbone, plan.jobs, store, listener)
        scorer = inputs.scorer(plan, extractor)
        if plan.save is not None:
            _save(Path(plan.save), scorer)
        with _part_folder(target, len(inputs.pool)) as parts:
            source = with_absolute_path(inputs.source)
            job = FilterJob(inputs.pool, source, plan, scorer, extractor, parts)
            decision = job.run()
            if target is not None:
                named = with_frames_option(inputs.source, plan.frames)
                _write_list(target, reference_for(named, target), job, decision)
            _make_folders(job, decision)
            record = describe(
                job, decision, base.name if base else str(plan.load), _notes(job, base)
            )
            if base is not None:
                distance, gains = before_and_after(base, job, decision)
                record = replace(record, distance=distance, probe=gains)
            # Last, so that a kill before this point loses nothing that --resume needs.
            parts.remove()
    kept = Kept(with_choice(record, inputs.choice, "warnings"), job, decision, base)
    if log is not None:
        log_filter(log, kept, target)
    return kept


def _notes(job: "FilterJob", labelled: Pool | None) -> tuple[str, ...]:
    """Sentences about files that were not read, classes that were not found and a saved filter."""
    notes = [f"{job.pool.name}: {note}" for note in getattr(job.pool, "notes", ())]
    if labelled is None:
        return (*notes, "The useful share is that of the pool on which the filter was fitted.")
    own = (*getattr(labelled, "notes", ()), labelled.why_unlabelled)
    return (*(f"{labelled.name}: {note}" for note in own if note), *notes)


def _save(path: Path, scorer: "Scorer") -> None:
    from mixmood.selection.scorer import save_scorer

    check_writable(path)
    save_scorer(path, scorer)


@contextmanager
def _part_folder(out: Path | None, n_images: int) -> Iterator["PartFolder"]:
    from mixmood.selection.scan import PartFolder

    if out is not None:
        yield PartFolder.beside(out, n_images)
        return
    with tempfile.TemporaryDirectory(prefix="mixmood-filter-") as folder:
        yield PartFolder(Path(folder) / "scan", n_images)


def _write_list(out: Path, pool: str, job: "FilterJob", decision: "Decision") -> None:
    from mixmood.report.filter import ListContent, write_list

    content = ListContent(
        pool=job.pool,
        pool_name=pool,
        parts=job.parts,
        reasons=decision.reasons,
        class_names=job.scorer.class_names,
        labelled_names=job.scorer.labelled_names,
    )
    write_list(out, content)


def _make_folders(job: "FilterJob", decision: "Decision") -> None:
    from mixmood.selection.image_folder import fill_folder, images_of

    rows, progress = np.flatnonzero(decision.is_kept), job.extractor.listener
    for folder, with_links in ((job.plan.link, True), (job.plan.copy, False)):
        if folder is not None:
            pool = images_of(job.pool)
            fill_folder(pool, rows, Path(folder), progress, with_links=with_links)
