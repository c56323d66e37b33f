"""`mixmood.filter`: the images of a pool that are like the labelled ones."""

import tempfile
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.api.mlflow_runs import log_filter, mlflow_log
from mixmood.api.outputs import check_outputs, pictures_of, train_command
from mixmood.api.view_choice import SetsInView, open_labelled, reading, sets_in_view
from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.core.files import data_frame, sweep, written
from mixmood.core.listener import Listener, Silent
from mixmood.core.options import DEFAULT_BACKBONE, DEFAULT_PROBE, DEFAULT_SCORE, with_options
from mixmood.core.records.filtering import Filtering, GainChange, GainInterval
from mixmood.core.records.labelling import LabelImage, LabelTask
from mixmood.core.records.ranking import ShareRecord
from mixmood.core.text import in_percent
from mixmood.data.images.names import with_frames_option
from mixmood.data.images.pool import FeatureSource, Pool, scaled
from mixmood.data.open import open_pool, with_noise_settings
from mixmood.data.readers.kept import parts_of, pool_reference
from mixmood.evidence.advice import expected
from mixmood.evidence.labelled import N_POOL
from mixmood.features.backbones.backbone import Backbone, network_digest
from mixmood.features.backbones.registry import is_auto, load_backbone
from mixmood.features.backbones.view import View
from mixmood.features.extract import Extractor
from mixmood.features.plan import AUTO
from mixmood.features.reading import POOL, Reading
from mixmood.ranking.judge import PoolGains, gains_of, read_first, read_labelled
from mixmood.ranking.rank import why_not_comparable
from mixmood.report import filter as report
from mixmood.report.label import label_page
from mixmood.selection.filter import REASONS, FilterJob, ScannedPool, describe
from mixmood.selection.image_folder import check_empty, fill_folder, images_of
from mixmood.selection.page_material import gather_filter_material
from mixmood.selection.plan import FilterPlan
from mixmood.selection.scan import PartFolder
from mixmood.selection.scorer import Scorer, fit_scorer, load_scorer, save_scorer

MOST_BORDERLINE = 50  # images on the page to keep or drop them
WHOLE = "whole"


@dataclass(frozen=True, repr=False)
class Kept:
    """The result of a filter: the kept images of a pool, all scores and the record."""

    record: Filtering
    _job: FilterJob
    _decided: ScannedPool
    _labelled: Pool | None

    @property
    def useful_share(self) -> ShareRecord:
        """The part of the pool that could have come from the labelled classes."""
        return self.record.useful_share

    @property
    def scores(self) -> NDArray[np.float64]:
        """The score of every image of the pool, NaN where it could not be read, shape (n,)."""
        return self._decided.scores

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """Which images are kept, shape (n,)."""
        return self._decided.is_kept

    @cached_property
    def paths(self) -> list[str]:
        """The names of the kept images, as the pool gives them."""
        return [self._job.pool.locate(row) for row in np.flatnonzero(self.is_kept).tolist()]

    def as_pool(self) -> Pool:
        """The kept images as a pool: a filter can be given wherever images are."""
        pool, rows = self._job.pool, np.flatnonzero(self.is_kept)
        if not len(rows):
            raise InputError(f"{self!r} keeps no image. Filter again with a larger keep.")
        return parts_of([(pool, rows)], self.record.pool)

    def to_dataframe(self) -> Any:
        """A table of pandas with a row for each image: path, index, score, keep, reason, class."""
        names, classes = self._job.scorer.class_names, self._decided.classes
        return data_frame(
            [
                {
                    "path": self._job.pool.locate(index),
                    "index": index,
                    "score": float(self.scores[index]),
                    "keep": bool(self.is_kept[index]),
                    "reason": REASONS[self._decided.reasons[index]],
                }
                | ({"predicted_class": names[code] if code >= 0 else ""} if names else {})
                for index, code in enumerate(classes.tolist())
            ]
        )

    def to_json(self, path: str | Path | None = None) -> str:
        """The record as JSON text; also written to `path`, if one is given."""
        return self.record.to_json(path)

    def to_html(self, path: str | Path | None = None, *, command: str | None = None) -> str:
        """One self-contained page with pictures; also written to `path`, if one is given."""
        threshold = self.record.threshold
        material = gather_filter_material(self._job, self._decided, threshold, self._labelled)
        return written(report.filter_page(self.record, material, command), path)

    def to_review(self, path: str | Path | None = None) -> str:
        """A page to keep or drop the 50 images nearest to the threshold, for mixmood-labels.csv."""
        pool, names = self._job.pool, self._job.scorer.class_names
        classes = self._decided.classes
        if self.record.threshold is None:
            raise InputError(f"{self!r}: nothing was kept, and so no image is borderline.")
        decided = np.flatnonzero(self.is_kept | self._decided.is_dropped)
        apart = np.abs(self.scores[decided] - self.record.threshold)
        rows = decided[np.argsort(apart, kind="stable")[:MOST_BORDERLINE]]
        images = tuple(
            LabelImage(
                self.record.pool,
                pool.locate(row),
                row,
                note=f"{'kept' if self.is_kept[row] else 'dropped'}, score {self.scores[row]:.2f}"
                + (f"; looks like {names[classes[row]]}" if classes[row] >= 0 else ""),
            )
            for row in rows.tolist()
        )
        title = f"Keep these {len(images)} images of {self.record.pool}?"
        task = LabelTask(title, "They score nearest to the threshold", (), images)
        return written(label_page(task, pictures_of(images, {self.record.pool: pool})), path)

    def __repr__(self) -> str:
        """The number of kept images and the useful share."""
        return (
            f"<Kept {self.record.n_kept} of {self.record.n_images} images of {self.record.pool}; "
            f"useful share {in_percent(self.useful_share.share)}>"
        )

    def _repr_html_(self) -> str:
        """The lines that the command prints, for notebooks."""
        return "<br>".join(escape(line) for line in report.filter_lines(self.record))


@with_options(FilterPlan)
def filter(
    labelled: Any,
    pool: Any,
    *,
    out: str | Path | None = None,
    plan: FilterPlan,
    listener: Listener | None = None,
) -> Kept:
    """Which images of a pool are like the labelled ones, with a score for each.

    Args:
        labelled: The labelled images; None with `load`.
        pool: The pool to filter.
        out: A .csv, .parquet or .txt list to write; it is a pool for `rank`, `filter`, `train`.
    """
    target = None if out is None else Path(out)
    check_paths(labelled, pool, target, plan)
    if target is not None and plan.resume:
        sweep(target.parent, target.name)
    log = mlflow_log(plan.mlflow)
    scratch = nullcontext() if target else tempfile.TemporaryDirectory(prefix="mixmood-filter-")
    with scratch as place, reading(plan, listener) as reader:
        parts = target.with_name(f"{target.name}.parts") if target else Path(str(place), "scan")
        job, sets, gains = _fitted_job(labelled, pool, plan, target, parts, reader)
        decided = job.run()
        if target is not None:
            name = reference(with_frames_option(job.source, plan.frames), target)
            report.write_list(target, name, report.list_rows(job, decided.reasons, name))
        for folder, with_links in ((plan.link, True), (plan.copy, False)):
            if folder is not None:
                images, rows = images_of(job.pool), np.flatnonzero(decided.is_kept)
                fill_folder(images, rows, Path(folder), reader.listener, with_links=with_links)
        name = str(plan.load) if sets is None else sets.labelled.name
        record = describe(job, decided, name, _notes(job.pool, sets, gains))
        if sets is not None:
            probe = None if gains is None else _gains(gains, job, decided)
            record = replace(record, probe=probe, view=sets.view_entry)
            record = _with_answer(record, labelled, pool, target, plan)
        # Last, so that a kill before this point loses nothing that --resume needs.
        job.parts.remove()
    kept = Kept(record, job, decided, None if sets is None else sets.labelled)
    if log is not None:
        log_filter(log, kept, target)
    return kept


def check_paths(labelled: Any, pool: Any, out: Path | None, plan: FilterPlan) -> None:
    """Refuse outputs that cannot be written or would change an input, before any work is done."""
    if (labelled is None) == (plan.load is None):
        raise OptionError("Give the labelled images, or a saved filter with load; not both.")
    if plan.load is not None and plan.labels:
        raise OptionError(
            "labels need the labelled images; a saved filter has none. Leave one out."
        )
    for folder in (plan.link, plan.copy):
        if folder is not None:
            check_empty(Path(folder), resume=plan.resume)
    if out is not None:
        report.writer_for(out)
    check_outputs((labelled, pool, plan.load), (out, plan.save), (plan.link, plan.copy))
    if out is not None:
        reference(pool, out)
    elif plan.resume:
        raise OptionError("resume continues the scan of a list, and no list was named: give out.")


def reference(pool: Any, out: Path) -> str:
    """The name of the pool in the list `out`; of an object in memory, the name of its type."""
    is_place = isinstance(pool, str | Path)
    return pool_reference(str(pool), out) if is_place else type(pool).__name__


def _fitted_job(
    labelled: Any, pool: Any, plan: FilterPlan, out: Path | None, parts: Path, reader: Extractor
) -> tuple[FilterJob, SetsInView | None, PoolGains | None]:
    """The pool and the filter, fitted or saved; the sets, and what the whole pool is worth."""
    base = None if plan.load is not None else open_labelled(labelled, plan, reader)
    source, sets, gains = with_noise_settings(pool, base, plan.seed), None, None
    opened = open_pool(source, seed=plan.seed, cache=reader.cache, frames=plan.frames)
    if plan.link is not None or plan.copy is not None:
        images_of(opened)
    if base is None:
        scorer = load_scorer(Path(str(plan.load)))
        network = _network_of(scorer, opened, plan, reader.listener)
        extractor = replace(reader, backbone=network)
        opened = scaled(opened, scorer.pixel_range)
    else:
        if why := why_not_comparable(base, opened):
            raise ShapeError(f"{opened.name} cannot be filtered: {why}")
        sets = sets_in_view(base, {opened.name: opened}, plan, reader)
        opened, extractor = sets.pools[opened.name], sets.extractor
    if out is not None:
        report.check_names(out, (opened.locate(row) for row in range(len(opened))))
    if sets is not None:
        if plan.probe:
            own = read_labelled(sets.labelled, plan.seed, extractor)
            whole = {WHOLE: read_first(opened, own.sample, plan.seed, extractor)}
            gains = gains_of(own, whole, plan.seed, plan.groups, Silent())
        share = None if gains is None else gains.parts[WHOLE].share
        named = plan if sets.view is None else replace(plan, backbone=sets.view.name)
        scorer = fit_scorer(sets.labelled, opened, named, extractor, share=share)
    if plan.save is not None:
        save_scorer(Path(plan.save), scorer)
    answers = {} if sets is None else sets.given.answers.get(opened.name, {})
    folder = PartFolder(parts, len(opened))
    return FilterJob(opened, source, plan, scorer, extractor, folder, answers), sets, gains


def _network_of(saved: Scorer, pool: Pool, plan: FilterPlan, listener: Listener) -> Backbone | None:
    """The network that a saved filter was fitted with, as asked for; None for features."""
    family = saved.filter.score.family
    if plan.score not in (DEFAULT_SCORE, family):
        raise OptionError(
            f"{plan.load} was fitted with the score {family}; got {plan.score}. Leave the score "
            "out, or fit the filter again."
        )
    has_images = not isinstance(pool, FeatureSource)
    if has_images and not saved.backbone:
        raise InputError(
            f"{plan.load} was fitted on features, and {pool.name} holds images. Give features of "
            "the same kind, or fit the filter on images."
        )
    network = None
    if has_images:
        # A file that was moved may be named again; its digest decides whether it is the same.
        is_named = plan.backbone != DEFAULT_BACKBONE and not is_auto(plan.backbone)
        name = plan.backbone if is_named else saved.backbone_name
        side = plan.resolution if isinstance(plan.resolution, int) else saved.resolution
        network = load_backbone(name, side, plan.device, listener=listener)
        depth = saved.depth if plan.depth == AUTO else plan.depth
        if depth in network.depths:
            network = network.at(View(side, depth))
    if (network_digest(network) if network else "") != saved.backbone:
        is_other = (plan.backbone, plan.resolution, plan.depth) != (DEFAULT_BACKBONE, AUTO, AUTO)
        advice = "Fit"
        if network is not None and is_other:
            view = f"{saved.resolution} px, {saved.depth}"
            advice = f"Leave out backbone, resolution and depth ({view} there), or fit"
        raise InputError(
            f"{plan.load} was fitted on features of {saved.backbone_name}, which {pool.name} "
            f"cannot give here. {advice} the filter again."
        )
    return network


def _notes(pool: Pool, sets: SetsInView | None, gains: PoolGains | None) -> tuple[str, ...]:
    """Sentences about files that were not read, classes that were not found and a saved filter."""
    notes = [f"{pool.name}: {note}" for note in getattr(pool, "notes", ())]
    if sets is None:
        return (*notes, "The useful share is that of the pool on which the filter was fitted.")
    base = sets.labelled
    read = getattr(base, "notes", ()) if gains is None else gains.labelled.warnings
    own = (*read, base.why_unlabelled)
    return (*sets.given.notes, *(f"{base.name}: {note}" for note in own if note), *notes)


def _gains(gains: PoolGains, job: FilterJob, decided: ScannedPool) -> GainChange | None:
    """Gain and advice of the whole pool and of its kept part; None if nothing new is kept."""
    whole, own, evidence = gains.probes[WHOLE], gains.labelled, gains.evidence
    if whole is None:
        return None
    kept = np.flatnonzero(decided.is_kept)
    part = Reading.begin(job.pool, N_POOL, job.plan.seed, POOL, own.extractor, kept)
    part = part.read_on(N_POOL, own.sample)
    if not len(part.sample):
        return None
    judged = evidence.part(part.features)
    probe = evidence.probe(judged, DEFAULT_PROBE)
    words = (gains.advice[WHOLE].word, evidence.advice(judged, probe).word)
    both = (
        GainInterval(one.gain, one.interval, one.p_helps, word)
        for one, word in zip((whole, probe), words, strict=True)
    )
    return GainChange(DEFAULT_PROBE, *both)


def answer(gains: GainChange | None, n_kept: int) -> tuple[str, str]:
    """What to train with, in one sentence, and in one word: "kept", "whole" or "nothing"."""
    if n_kept == 0:
        return "Use no image of this pool: none is kept.", "nothing"
    if gains is None:
        return "", "kept"
    whole, kept = gains.whole, gains.kept
    if whole.advice == "use" and whole.gain > kept.gain:
        return f"Use the whole pool: {expected(whole)}; its kept part: {kept.gain:+.1f}.", "whole"
    if kept.advice == "use":
        return f"Use the kept images: {expected(kept)}.", "kept"
    sure = "Do not use" if kept.advice == "avoid" else "No reason to use"
    return f"{sure} the kept images: {expected(kept)}.", "nothing"


def _with_answer(
    record: Filtering, labelled: Any, pool: Any, out: Path | None, plan: FilterPlan
) -> Filtering:
    """The record with the answer, and with the command that follows it if all sets are paths."""
    sentence, word = answer(record.probe, record.n_kept)
    record = replace(record, answer=sentence)
    if word == "kept" and out is None:
        return record
    folder = {"kept": "run-kept", "whole": "run", "nothing": "run-supervised"}[word]
    sets, lists = (labelled, pool) if word == "whole" else (labelled,), [out] * (word == "kept")
    return replace(record, next=train_command(sets, folder, plan, record.classes, lists))
