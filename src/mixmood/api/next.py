"""`mixmood.next`: the images whose labels would help most, and a page to label them on."""

import builtins
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import astuple, dataclass, fields, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.api.filter import reference
from mixmood.api.outputs import check_outputs, pictures_of, slug, train_command
from mixmood.api.pool_choice import as_pools
from mixmood.api.view_choice import sets_in_view
from mixmood.core.arrays import Array, Rows
from mixmood.core.cache import FeatureCache, open_cache
from mixmood.core.errors import InputError
from mixmood.core.files import data_frame, written
from mixmood.core.listener import Listener, Silent
from mixmood.core.options import plan_from, with_options
from mixmood.core.records.labelling import (
    SCHEMA,
    AskedPool,
    LabelImage,
    LabelPoints,
    LabelTask,
    Proposal,
    Proposals,
)
from mixmood.core.records.ranking import ShareRecord, Union
from mixmood.core.seeds import rng_for
from mixmood.core.text import counted, in_percent, listed
from mixmood.core.version import __version__
from mixmood.data.images.labels import LABELS_FILE, NONE, group_codes, group_names, needed_labels
from mixmood.data.images.pool import Pool
from mixmood.data.open import open_candidates, open_pool
from mixmood.data.readers.kept import parts_of
from mixmood.features.backbones.backbone import backbone_entry
from mixmood.features.sample import Sample
from mixmood.heads.linear import LinearHead
from mixmood.ranking.judge import PoolGains, default_gains, read_first, read_labelled
from mixmood.ranking.rank import why_not_comparable
from mixmood.report.filter import ListRow, write_list, writer_for
from mixmood.report.label import label_page, label_studio_tasks, next_lines
from mixmood.selection.filter import FilterJob
from mixmood.selection.next import (
    LEAST_USEFUL,
    candidates_of,
    chosen_images,
    not_foreign,
    useful_of,
)
from mixmood.selection.plan import FilterPlan, NextPlan
from mixmood.selection.scan import PartFolder
from mixmood.selection.scorer import MOST_IN_FILTER, Scorer, fit_classifier, fit_scorer, sampled

MOST_GUESSES = 5
LEAST_LABELLED = 4
"""Two images of two classes: with fewer, no classifier says what it is unsure of."""
EFFECT = 1.5
"""How many random images of the task one chosen image is worth: on development tasks the median
fell from 1.9 after 30 chosen images to 1.3 after 50."""
FEW_USEFUL = 0.05
CLEARLY_FIRST = 0.3
"""An image is called unsure if its two best classes differ by less in probability."""


@dataclass(frozen=True, repr=False)
class NextImages:
    """The images that are worth a label: a record, and the pools to read them from."""

    record: Proposals
    _pools: Mapping[str, Pool]
    _given: Mapping[str, Any]

    @property
    def paths(self) -> list[str]:
        """The names of the images, as their pools give them."""
        return [one.path for one in self.record.images]

    def as_pool(self) -> Pool:
        """The proposed images as a pool; InputError if they are of several pools, or none."""
        names = {one.pool for one in self.record.images}
        if len(names) != 1:
            raise InputError(f"{self!r}: only images of one pool are a pool.")
        pool = self._pools[names.pop()]
        rows = np.array([one.index for one in self.record.images], np.int64)
        return parts_of([(pool, rows)], pool.name)

    def to_dataframe(self) -> Any:
        """A table of pandas with a row for each proposed image."""
        return data_frame(
            [{**_row(one, one.pool), "useful": one.useful} for one in self.record.images]
        )

    def to_json(self, path: str | Path | None = None) -> str:
        """The record as JSON text; also written to `path`, if one is given."""
        return self.record.to_json(path)

    def to_csv(self, path: str | Path) -> list[Path]:
        """Write the list of images, a pool for the other commands; one list for each pool."""
        out, names = Path(path), list(dict.fromkeys(one.pool for one in self.record.images))
        if len(names) < 2:
            name = (names or list(self._given))[0]
            write_list(out, _List(reference(self._given[name], out), self.record.images))
            return [out]
        files = [out.with_name(f"{out.stem}-{slug(name)}{out.suffix}") for name in names]
        for name, file in zip(names, files, strict=True):
            own = tuple(one for one in self.record.images if one.pool == name)
            write_list(file, _List(reference(self._given[name], file), own))
        return files

    def to_html(self, path: str | Path | None = None) -> str:
        """The page to label the images on; also written to `path`, if one is given."""
        task = self._task()
        return written(label_page(task, pictures_of(task.images, self._pools)), path)

    def to_label_studio(self, path: str | Path | None = None) -> str:
        """The images as tasks of Label Studio; also written to `path`, if one is given."""
        task = self._task()
        return written(label_studio_tasks(task, pictures_of(task.images, self._pools)), path)

    def _task(self) -> LabelTask:
        record = self.record
        n_images = counted(len(record.images), "image")
        return LabelTask(
            f"Which class has each of {n_images}?",
            f"Labels that help most, of {listed([one.name for one in record.pools])}",
            record.classes,
            tuple(
                LabelImage(one.pool, one.path, one.index, one.guesses, None, one.reason)
                for one in record.images
            ),
            record.next,
            record.labels_file,
        )

    def __repr__(self) -> str:
        """How many images of how many pools."""
        n_pools = counted(len(self.record.pools), "pool")
        return f"<NextImages: {counted(len(self.record.images), 'image')} of {n_pools}>"

    def _repr_html_(self) -> str:
        """The lines that the command prints, for notebooks."""
        return "<br>".join(escape(line) for line in next_lines(self.record))


@dataclass(frozen=True)
class _List:
    """The proposed images of one pool, as rows of a list."""

    pool_name: str
    images: tuple[Proposal, ...]

    def rows(self) -> Any:
        """All rows at once."""
        yield [_row(one, self.pool_name) for one in self.images]


def _row(one: Proposal, pool: str) -> ListRow:
    name, chance = one.guesses[0]
    return {
        "path": one.path,
        "pool": pool,
        "index": one.index,
        "score": round(one.score, 6),
        "keep": 1,
        "reason": one.reason,
        "nearest": one.nearest,
        "predicted_class": name,
        "confidence": round(chance, 4),
    }


@with_options(NextPlan)
def next(
    labelled: Any,
    pools: Any,
    *,
    out: str | Path | None = None,
    plan: NextPlan,
    listener: Listener | None = None,
) -> NextImages:
    """Which images of the pools to label next, and what their labels are worth.

    Args:
        labelled: The labelled images, of two classes or more.
        pools: One pool, or a list or dictionary of pools.
        out: A .csv, .parquet or .txt list to write; it is a pool for the other commands.
        listener: Gets progress, warnings and notes.
    """
    if out is not None:
        writer_for(Path(out))
        check_outputs((labelled,), (out,))
    listener = listener or Silent()
    with open_cache(plan.cache, listener) or nullcontext() as store:
        found = _Search(labelled, pools, plan, store, listener).run()
    if out is not None:
        found.to_csv(out)
    return found


@dataclass(frozen=True)
class _Candidates:
    """The images of one pool that may be proposed."""

    scorer: Scorer
    sample: Sample
    scores: Array
    useful: Array
    nearest: Rows


class _Search:
    """One call of `next`: opened inputs, then scanned pools, then the choice."""

    def __init__(
        self,
        labelled: Any,
        pools: Any,
        plan: NextPlan,
        cache: FeatureCache | None,
        listener: Listener,
    ) -> None:
        """Open the sets and choose the view."""
        base = open_pool(
            labelled, seed=plan.seed, cache=cache, role="labelled set", frames=plan.frames
        )
        labels = needed_labels(base)
        if np.count_nonzero(np.bincount(labels.codes)) < 2:
            raise InputError(f"{base.name} has images of one class. Label some of another.")
        opened = open_candidates(as_pools(pools), base, plan.seed, cache, plan.frames)
        aside = dict(opened.set_aside)
        aside |= {
            name: why
            for name, pool in opened.pools.items()
            if (why := why_not_comparable(base, pool))
        }
        usable = {name: pool for name, pool in opened.pools.items() if name not in aside}
        reasons = " ".join(f"{name}: {why}" for name, why in aside.items())
        if not usable:
            raise InputError(f"No pool can be used. {reasons or 'Give one or more.'}")
        self.warnings = [f"{name} is set aside: {why}" for name, why in aside.items()]
        self.labelled, self.given = labelled, opened.given
        self.plan, self.listener = plan, listener
        self.sets = sets = sets_in_view(base, usable, plan, plan.jobs, cache, listener)
        self.base, self.pools, self.extractor = sets.labelled, sets.pools, sets.extractor
        self.warnings += sets.given.notes

    def run(self) -> NextImages:
        """Scan the pools, choose among all candidates, and say what their labels are worth."""
        own = self.extractor.read(self.base, sampled(self.base, MOST_IN_FILTER, self.plan.seed))
        codes, seed = own.codes.astype(np.int32), self.plan.seed
        head, names = fit_classifier(own.features, codes, self.base.labels, seed)
        if head is None:
            raise InputError(f"The readable images of {self.base.name} are of one class.")
        found = {name: self._candidates(pool, head, names) for name, pool in self.pools.items()}
        features = np.concatenate([one.sample.features for one in found.values()])
        useful = np.concatenate([one.useful for one in found.values()])
        present = np.unique(codes, return_inverse=True)[1]
        useful *= not_foreign(own.features, present, self._foreign(), features)
        chances = head.predict_proba(features)
        chosen = chosen_images(
            features, own.features, useful, chances, self.plan.count, self._groups(found)
        )
        owners = [(name, k) for name, one in found.items() for k in range(len(one.useful))]
        images = tuple(
            self._proposal(owners[row], found, chances[row], n_like)
            for row, n_like in zip(chosen.rows.tolist(), chosen.n_like.tolist(), strict=True)
        )
        if _is_foreign(images, found):
            images = ()
        return NextImages(self._record(images, found), self.pools, self.given)

    def _foreign(self) -> Array:
        """Features of the images that a person called none of the classes, shape (n, d)."""
        parts = [
            self.extractor.read(
                self.pools[name], sorted(row for row, label in said.items() if label == NONE)
            ).features
            for name, said in self.sets.given.answers.items()
            if NONE in said.values()
        ]
        return np.concatenate(parts) if parts else np.empty((0, 0))

    def _candidates(self, pool: Pool, head: LinearHead, names: tuple[str, ...]) -> _Candidates:
        """Scan a pool as `filter` does, and read the images that may be proposed."""
        plan = self.plan
        shared = {one.name: getattr(plan, one.name) for one in fields(plan) if one.name != "count"}
        if self.sets.view is not None:
            shared["backbone"] = self.sets.view.name
        filter_plan = plan_from(FilterPlan, shared)
        # Images that were chosen and labelled are no random sample of their classes: a filter that
        # is fitted with them takes the images that are left for foreign.
        opened = self.sets.opened
        scorer = fit_scorer(opened, pool, filter_plan, self.extractor, LEAST_LABELLED)
        scorer = replace(scorer, head=head, class_names=names)
        with tempfile.TemporaryDirectory(prefix="mixmood-next-") as folder:
            parts = PartFolder(Path(folder) / "scan", len(pool))
            answers = self.sets.given.answers.get(pool.name, {})
            job = FilterJob(pool, None, filter_plan, scorer, self.extractor, parts, answers)
            scanned = job.run().scanned
            confidence = np.concatenate([part.confidence for _, part in parts])
            nearest = np.concatenate([part.nearest for _, part in parts])
        useful, may_be = useful_of(scorer.filter, scanned.scores)
        rng = rng_for(plan.seed, "next", "candidates")
        rows = candidates_of(scanned, useful, may_be, confidence, rng)
        sample = self.extractor.read(pool, rows)
        rows = sample.rows
        return _Candidates(scorer, sample, scanned.scores[rows], useful[rows], nearest[rows])

    def _groups(self, found: Mapping[str, _Candidates]) -> Rows | None:
        """The group of each candidate; None without groups, or if the pools do not have them."""
        if self.plan.groups is None:
            return None
        names: list[str] = []
        try:
            for name, one in found.items():
                every = group_names(self.pools[name], self.plan.groups)
                names += [every[row] for row in one.sample.rows.tolist()]
        except InputError as error:
            self.warnings.append(f"The proposed images are not grouped: {error}")
            return None
        return group_codes(names)

    def _proposal(
        self, owner: tuple[str, int], found: Mapping[str, _Candidates], chances: Array, n_like: int
    ) -> Proposal:
        name, k = owner
        one, order = found[name], np.argsort(-chances, kind="stable")[:MOST_GUESSES].tolist()
        names, index = one.scorer.class_names, int(one.sample.rows[k])
        guesses = tuple((names[code], round(float(chances[code]), 4)) for code in order)
        return Proposal(
            pool=name,
            path=self.pools[name].locate(index),
            index=index,
            score=float(one.scores[k]),
            useful=round(float(one.useful[k]), 4),
            guesses=guesses,
            nearest=one.scorer.labelled_names[int(one.nearest[k])],
            reason=_reason(guesses, n_like),
        )

    def _gains(self) -> PoolGains:
        """What the pools are worth without labels, by the question that `rank` asks."""
        seed, extractor = self.plan.seed, self.extractor
        own = read_labelled(self.base, seed, extractor)
        pools = {
            name: read_first(one, own.sample, seed, extractor)
            for name, one in self.sets.unlabelled.items()
        }
        some = {name: pool for name, pool in pools.items() if len(pool.sample)}
        return default_gains(own, some, self.plan, self.listener)

    def _record(self, images: tuple[Proposal, ...], found: Mapping[str, _Candidates]) -> Proposals:
        plan, gains = self.plan, self._gains()
        pools = tuple(
            AskedPool(
                name,
                len(self.pools[name]),
                len(one.useful),
                sum(image.pool == name for image in images),
                self._share(one, gains.shares.get(name)),
                gains.advice[name].word if name in gains.advice else "unsure",
                None if (probe := gains.probes.get(name)) is None else probe.gain,
            )
            for name, one in found.items()
        )
        worth = _worth(images, pools, gains)
        scorer = builtins.next(iter(found.values())).scorer
        if 0 < len(images) < plan.count:
            few = counted(len(images), "image is", "images are")
            self.warnings.append(f"Only {few} worth a label; {plan.count} were asked for.")
        return Proposals(
            schema=SCHEMA,
            mixmood=__version__,
            seed=plan.seed,
            labelled=self.base.name,
            count=plan.count,
            n_labelled=len(self.base),
            classes=scorer.class_names,
            images=images,
            pools=pools,
            worth=worth,
            answer=_answer(images, pools, worth, len(self.base), gains.answer.union),
            next=self._command(scorer.class_names) if images else None,
            labels_file=self._labels_file,
            backbone=backbone_entry(self.extractor.backbone),
            view=self.sets.view_entry,
            warnings=tuple(self.warnings),
        )

    def _share(self, found: _Candidates, judged: ShareRecord | None) -> ShareRecord:
        """The useful share of a pool as `rank` gives it.

        With labels of chosen images that one is too low; then it is that of the filter, which is
        fitted without them.
        """
        if judged is not None and not self.plan.labels:
            return judged
        return ShareRecord(*astuple(found.scorer.filter.useful)[:4])

    def _command(self, classes: tuple[str, ...]) -> str | None:
        """The command that trains with the new labels, if all sets are paths."""
        sets = (self.labelled, *(self.given[name] for name in self.pools))
        new = ["--labels", self._labels_file]
        return train_command(sets, "run", self.plan, classes, options=new)

    @property
    def _labels_file(self) -> str:
        """What the page saves: another name in each round, so that no answers are overwritten."""
        number, file = len(self.plan.labels) + 1, Path(LABELS_FILE)
        return LABELS_FILE if number == 1 else f"{file.stem}-{number}{file.suffix}"


def _is_foreign(images: Sequence[Proposal], found: Mapping[str, _Candidates]) -> bool:
    """Whether all pools are surely foreign, and no image is an exception."""
    ends = [one.scorer.filter.useful.interval[1] for one in found.values()]
    return max(ends) < FEW_USEFUL and all(one.useful < LEAST_USEFUL for one in images)


def _reason(guesses: tuple[tuple[str, float], ...], n_like: int) -> str:
    """Why the label of an image would help.

    >>> _reason((("cat", 0.5), ("dog", 0.4)), 12), _reason((("cat", 0.9), ("dog", 0.1)), 1)
    ('cat (50 %) or dog (40 %); 12 images are like it', 'unlike the labelled images')
    """
    (first, best), (second, other) = guesses[:2]
    like = f"{n_like} images are like it" if n_like > 1 else ""
    if best - other < CLEARLY_FIRST:
        unsure = f"{first} ({in_percent(best)}) or {second} ({in_percent(other)})"
        return "; ".join(filter(None, (unsure, like)))
    return "; ".join(filter(None, ("unlike the labelled images", like)))


def _worth(
    images: tuple[Proposal, ...], pools: tuple[AskedPool, ...], gains: PoolGains
) -> LabelPoints | None:
    """What labels of these images are worth; None if the learning curve cannot tell."""
    if not images or gains.evidence.why_no_gain or not gains.evidence.curve.is_clear:
        return None
    curve, n = gains.evidence.curve, len(images)
    n_all = sum(one.n_images for one in pools)
    share = sum(one.n_images * one.useful_share.share for one in pools) / n_all
    chosen = EFFECT * sum(one.useful for one in images)
    error = 1.96 * curve.error / curve.slope
    points = curve.points(chosen)
    union = gains.answer.union
    return LabelPoints(
        n,
        points,
        (points * max(0.0, 1 - error), points * (1 + error)),
        curve.points(n * share),
        union.probe.gain if union else None,
        union.probe.interval if union else None,
        union.pools if union else (),
    )


def _answer(
    images: tuple[Proposal, ...],
    pools: tuple[AskedPool, ...],
    worth: LabelPoints | None,
    n_labelled: int,
    union: Union | None,
) -> str:
    """What to do, in one sentence."""
    if not images:
        shares = [f"the useful share of {one.name} is {one.useful_share}" for one in pools]
        has_useful = any(one.useful_share.share >= FEW_USEFUL for one in pools)
        why = (
            "what looks useful is a copy or has a label"
            if has_useful
            else "no image is like the labelled ones"
        )
        return f"Nothing here is worth a label: {listed(shares)}, and {why}."
    these = "this image" if len(images) == 1 else f"these {len(images)} images"
    if worth is None:
        used = (
            f"; {listed(union.pools)} without labels: {union.probe.gain:+.1f} points"
            if union
            else ""
        )
        return f"Label {these}; {n_labelled} labels do not tell what more of them are worth{used}."
    gain = f"{worth.chosen:+.1f} points expected, {worth.random:+.1f} if chosen at random"
    if worth.unlabelled is None:
        return f"Label {these}: {gain}; no pool is advised without labels."
    names = listed(worth.pools)
    if worth.unlabelled > worth.chosen:
        first = f"{worth.unlabelled:+.1f} points expected"
        return f"Use {names} without labels first: {first}; then label {these}: {gain}."
    return f"Label {these}: {gain}; {names} without labels: {worth.unlabelled:+.1f}."
