"""`mixmood.filter`: a pool in, its useful part out."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.cache.features import FeatureCache, open_cache
from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.core.files.atomic import check_writable, written
from mixmood.core.progress import Progress, Silent
from mixmood.core.records.filtering import Filtering, Share
from mixmood.data.pools.kept import located, pool_word
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import FeatureSource, Pool

if TYPE_CHECKING:
    from mixmood.selection.filter import Decision, FilterJob
    from mixmood.selection.fit import Embedder
    from mixmood.selection.plan import FilterPlan
    from mixmood.selection.scan.parts import PartFolder
    from mixmood.selection.scorer import Scorer


@dataclass(frozen=True, repr=False)
class Kept:
    """What a filter kept of a pool."""

    record: Filtering
    _job: "FilterJob"
    _decision: "Decision"

    @property
    def useful_share(self) -> Share:
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

        return written(filter_page(self.record, self._job, self._decision, command), path)

    def __repr__(self) -> str:
        """One line."""
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
    keep: str | float = "auto",
    threshold: float | None = None,
    score: str = "combined",
    balance: bool = False,
    diverse: float = 0.0,
    out: str | Path | None = None,
    link: str | Path | None = None,
    copy: str | Path | None = None,
    save: str | Path | None = None,
    load: str | Path | None = None,
    backbone: str = "efficientnet-lite0",
    resolution: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    cache: str | Path | None = "default",
    backend: str = "local",
    resume: bool = False,
    progress: Progress | None = None,
) -> Kept:
    """Which images of a pool are like the labelled ones, with a score for each.

    Args:
        labelled: The labelled images; None with `load`.
        pool: The pool to filter.
        keep: "auto" for the estimated useful part, a share below 1, or a number of images.
        threshold: The least score of a kept image; in place of `keep`.
        score: One of `mixmood.scores.SCORES`.
        balance: Keep as many images of each class.
        diverse: 0 to 1: keep the half of the images that differ most from each other.
        out: A .csv, .parquet or .txt list to write; it is a pool for `rank`, `filter`, `train`.
        link: A folder to make of hard links to the kept images.
        copy: A folder to make of copies of them.
        save: A file to keep the fitted filter in, for the next pool.
        load: Such a file, in place of labelled images.
        backbone: The name of a backbone, or the path of an ONNX file.
        resolution: Pixels a side that the backbone sees; its default if None.
        seed: Decides every random choice.
        jobs: Threads; all cores if None.
        cache: A directory that keeps features between runs, or None for none.
        backend: "local", or "ray" for Ray Data.
        resume: Go on with the scan that was interrupted; needs `out`.
        progress: Called after every image read.
    """
    from mixmood.selection.filter import FilterJob, describe
    from mixmood.selection.fit import Embedder
    from mixmood.selection.plan import FilterPlan

    plan = FilterPlan(keep, threshold, score, balance, diverse, seed, backend)
    target = None if out is None else Path(out)
    _check_paths(labelled, pool, target, load, resume)
    _check_folders(link, copy)
    with open_cache(cache) or nullcontext() as store:
        crawl = open_pool(pool, seed=seed, cache=store)
        network = _network(crawl, load, backbone, resolution)
        embedder = Embedder(network, jobs, store, progress or Silent())
        scorer, name, notes = _scorer(labelled, crawl, plan, load, embedder, store)
        if save is not None:
            _save(Path(save), scorer)
        with _part_folder(target, len(crawl)) as parts:
            job = FilterJob(crawl, plan, scorer, embedder, parts)
            decision = job.run(resume=resume)
            if target is not None:
                _write_list(target, str(pool), job, decision)
                parts.remove()
        kept = Kept(describe(job, decision, name, notes), job, decision)
        _make_folders(kept, crawl, link, copy, embedder.progress)
    return kept


def _check_paths(
    labelled: Any, pool: Any, out: Path | None, load: str | Path | None, resume: bool
) -> None:
    if (labelled is None) == (load is None):
        raise OptionError("Give the labelled images, or a saved filter with load; not both.")
    if out is None:
        if resume:
            raise OptionError("resume needs the list of the scan to go on with: give out.")
        return
    from mixmood.report.filter.lists import writer_for

    writer_for(out)
    check_writable(out)
    for what in (labelled, pool):
        if isinstance(what, str | Path) and out.resolve() == Path(what).expanduser().resolve():
            raise OptionError(f"The list would replace its own input {out}. Name another file.")


def _check_folders(*folders: str | Path | None) -> None:
    from mixmood.selection.folder import check_empty

    for folder in folders:
        if folder is not None:
            check_empty(Path(folder))


def _network(pool: Pool, load: str | Path | None, backbone: str, resolution: int | None) -> Any:
    """What embeds the pool: the backbone asked for, or that of the saved filter."""
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.selection.scorer import load_scorer

    if isinstance(pool, FeatureSource):
        return None
    if load is None:
        return load_backbone(backbone, resolution)
    saved = load_scorer(Path(load))
    return load_backbone(saved.backbone_name, saved.resolution) if saved.backbone else None


def _scorer(
    labelled: Any,
    pool: Pool,
    plan: "FilterPlan",
    load: str | Path | None,
    embedder: "Embedder",
    cache: FeatureCache | None,
) -> "tuple[Scorer, str, tuple[str, ...]]":
    """The scorer, fitted or loaded, what the labelled set is called, and notes for the record."""
    from mixmood.selection.fit import fit_scorer
    from mixmood.selection.scorer import load_scorer

    if load is not None:
        scorer = load_scorer(Path(load))
        found = embedder.backbone.fingerprint if embedder.backbone else ""
        if found != scorer.backbone:
            raise InputError(
                f"{load} was fitted on features of {scorer.backbone_name or 'another kind'}, "
                f"which {pool.name} cannot give here. Fit the filter again."
            )
        note = "The useful share is that of the pool on which the filter was fitted."
        return scorer, str(load), (note,)
    base = open_pool(labelled, seed=plan.seed, cache=cache, role="labelled set")
    if isinstance(base, FeatureSource) != isinstance(pool, FeatureSource):
        raise ShapeError(
            f"Features cannot be mixed with images: {base.name} and {pool.name} must both be "
            "features, or both images."
        )
    return fit_scorer(base, pool, plan, embedder), base.name, ()


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


def _write_list(out: Path, pool: str, job: "FilterJob", decision: "Decision") -> None:
    from mixmood.report.filter.lists import write_list
    from mixmood.report.filter.rows import ListContent

    content = ListContent(
        pool=job.pool,
        word=pool_word(pool, out),
        parts=job.parts,
        reasons=decision.reasons,
        class_names=job.scorer.class_names,
        labelled_names=job.scorer.labelled_names,
    )
    write_list(out, content)


def _make_folders(
    kept: Kept,
    pool: Pool,
    link: str | Path | None,
    copy: str | Path | None,
    progress: Progress,
) -> None:
    from mixmood.selection.folder import make_folder

    rows = np.flatnonzero(kept.is_kept)
    for folder, with_links in ((link, True), (copy, False)):
        if folder is not None:
            make_folder(pool, rows, Path(folder), progress, with_links=with_links)
