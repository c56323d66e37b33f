"""`mixmood.next`: the images whose labels would help most, and a page to label them on."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.api.filter import reference
from mixmood.api.outputs import check_outputs, pictures_of, slug, train_command
from mixmood.api.train import as_pools
from mixmood.api.view_choice import SetsInView, open_labelled, reading, sets_in_view
from mixmood.core.errors import InputError
from mixmood.core.files import data_frame, written
from mixmood.core.listener import Listener
from mixmood.core.options import with_options
from mixmood.core.records import labelling as records
from mixmood.core.records.ranking import Union
from mixmood.core.text import counted, listed
from mixmood.core.version import __version__
from mixmood.data.images.labels import LABELS_FILE, needed_labels
from mixmood.data.images.pool import Pool
from mixmood.data.open import OpenedCandidates, open_candidates
from mixmood.data.readers.kept import parts_of
from mixmood.features.backbones.backbone import backbone_entry
from mixmood.features.extract import Extractor
from mixmood.ranking.judge import PoolGains, gains_of, read_first, read_labelled
from mixmood.ranking.rank import why_not_comparable
from mixmood.report.filter import COLUMNS, ListRow, write_list, writer_for
from mixmood.report.label import label_page, label_studio_tasks, next_lines
from mixmood.selection.next import FEW_USEFUL, Proposed, proposed
from mixmood.selection.plan import NextPlan

EFFECT = 1.5
"""How many random images of the task one chosen image is worth: on development tasks the median
fell from 1.9 after 30 chosen images to 1.3 after 50."""


@dataclass(frozen=True, repr=False)
class NextImages:
    """The images that are worth a label: a record, and the pools to read them from."""

    record: records.Proposals
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
        out, images = Path(path), self.record.images
        names = list(dict.fromkeys(one.pool for one in images)) or list(self._given)[:1]
        files = [out.with_name(f"{out.stem}-{slug(name)}{out.suffix}") for name in names]
        files = [out] if len(names) == 1 else files
        for name, file in zip(names, files, strict=True):
            pool = reference(self._given[name], file)
            write_list(file, pool, [[_row(one, pool) for one in images if one.pool == name]])
        return files

    def to_html(self, path: str | Path | None = None) -> str:
        """The page to label the images on; also written to `path`, if one is given."""
        return written(label_page(*self._task_and_pictures), path)

    def to_label_studio(self, path: str | Path | None = None) -> str:
        """The images as tasks of Label Studio; also written to `path`, if one is given."""
        return written(label_studio_tasks(*self._task_and_pictures), path)

    @property
    def _task_and_pictures(self) -> tuple[records.LabelTask, list[str | None]]:
        record, n_images = self.record, counted(len(self.record.images), "image")
        title = f"Which class has each of {n_images}?"
        lead = f"Labels that help most, of {listed([one.name for one in record.pools])}"
        images = tuple(
            records.LabelImage(one.pool, one.path, one.index, one.guesses, None, one.reason)
            for one in record.images
        )
        task = (title, lead, record.classes, images, record.next, record.labels_file)
        return records.LabelTask(*task), pictures_of(images, self._pools)

    def __repr__(self) -> str:
        """How many images of how many pools."""
        n_pools = counted(len(self.record.pools), "pool")
        return f"<NextImages: {counted(len(self.record.images), 'image')} of {n_pools}>"

    def _repr_html_(self) -> str:
        """The lines that the command prints, for notebooks."""
        return "<br>".join(escape(line) for line in next_lines(self.record))


def _row(one: records.Proposal, pool: str) -> ListRow:
    name, chance = one.guesses[0]
    own = (one.path, pool, one.index, round(one.score, 6), 1, one.reason, one.nearest)
    return dict(zip(COLUMNS, (*own, name, round(chance, 4)), strict=True))


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
    """
    if out is not None:
        writer_for(Path(out))
        check_outputs((labelled,), (out,))
    with reading(plan, listener) as reader:
        opened, sets, warnings = _opened(labelled, pools, plan, reader)
        named = plan if sets.view is None else replace(plan, backbone=sets.view.name)
        base, answers = sets.labelled, sets.given.answers
        found = proposed(sets.opened, base, sets.pools, answers, named, sets.extractor)
        gains = _gains(sets, plan)
    images, asked = found.images, _asked_pools(found, gains, plan)
    worth = _worth(images, asked, gains)
    read = (gains.labelled, *gains.pools.values())
    warnings += [f"{one.pool.name}: {text}" for one in read for text in one.warnings]
    warnings += found.warnings
    if 0 < len(images) < plan.count:
        few = counted(len(images), "image is", "images are")
        warnings.append(f"Only {few} worth a label; {plan.count} were asked for.")
    paths = (labelled, *(opened.given[name] for name in sets.pools))
    # Another name in each round, so that no answers are overwritten.
    number, name = len(plan.labels) + 1, Path(LABELS_FILE)
    file = LABELS_FILE if number == 1 else f"{name.stem}-{number}{name.suffix}"
    command = train_command(paths, "run", plan, found.classes, options=["--labels", file])
    record = records.Proposals(
        schema=records.SCHEMA,
        mixmood=__version__,
        seed=plan.seed,
        labelled=base.name,
        count=plan.count,
        n_labelled=len(base) - len(gains.labelled.sample.unreadable),
        classes=found.classes,
        images=images,
        pools=asked,
        worth=worth,
        answer="",
        next=command if images else None,
        labels_file=file,
        backbone=backbone_entry(sets.extractor.backbone),
        view=sets.view_entry,
        warnings=tuple(warnings),
    )
    record = replace(record, answer=_answer(record, gains.answer.union))
    result = NextImages(record, sets.pools, opened.given)
    if out is not None:
        result.to_csv(out)
    return result


def _opened(
    labelled: Any, pools: Any, plan: NextPlan, reader: Extractor
) -> tuple[OpenedCandidates, SetsInView, list[str]]:
    """All sets, those that can be used in one view, and sentences about the others."""
    base = open_labelled(labelled, plan, reader)
    labels = needed_labels(base)
    if np.count_nonzero(np.bincount(labels.codes)) < 2:
        raise InputError(f"{base.name} has images of one class. Label some of another.")
    opened = open_candidates(as_pools(pools), base, plan.seed, reader.cache, plan.frames)
    whys = {name: why_not_comparable(base, pool) for name, pool in opened.pools.items()}
    aside = opened.set_aside | {name: why for name, why in whys.items() if why}
    usable = {name: pool for name, pool in opened.pools.items() if name not in aside}
    if not usable:
        reasons = " ".join(f"{name}: {why}" for name, why in aside.items())
        raise InputError(f"No pool can be used. {reasons or 'Give one or more.'}")
    sets = sets_in_view(base, usable, plan, reader)
    left_out = [f"{name} is set aside: {why}" for name, why in aside.items()]
    return opened, sets, [*left_out, *sets.given.notes]


def _gains(sets: SetsInView, plan: NextPlan) -> PoolGains:
    """What the pools are worth without labels, by the question that `rank` asks."""
    own = read_labelled(sets.labelled, plan.seed, sets.extractor)
    pools = {
        name: read_first(pool, own.sample, plan.seed, sets.extractor)
        for name, pool in sets.unlabelled.items()
    }
    some = {name: pool for name, pool in pools.items() if len(pool.sample)}
    return gains_of(own, some, plan.seed, plan.groups, sets.extractor.listener)


def _asked_pools(
    found: Proposed, gains: PoolGains, plan: NextPlan
) -> tuple[records.AskedPool, ...]:
    pools, n_proposed = [], Counter(image.pool for image in found.images)
    for name, one in found.candidates.items():
        part, advice, probe = gains.parts.get(name), gains.advice.get(name), gains.probes.get(name)
        share = None if part is None else part.share
        if share is None or plan.labels:
            # With labels of chosen images, that of `rank` is too low. The filter is fitted without.
            share = one.scorer.filter.useful
        word, gain = advice.word if advice else "unsure", probe.gain if probe else None
        sizes = (len(one.pool), len(one.useful), n_proposed[name])
        pools.append(records.AskedPool(name, *sizes, share, word, gain))
    return tuple(pools)


def _worth(
    images: tuple[records.Proposal, ...], pools: tuple[records.AskedPool, ...], gains: PoolGains
) -> records.LabelPoints | None:
    """What labels of these images are worth; None if the learning curve cannot tell."""
    if not images or gains.evidence.why_no_gain or not gains.evidence.curve.is_clear:
        return None
    curve, n = gains.evidence.curve, len(images)
    n_all = sum(one.n_images for one in pools)
    share = sum(one.n_images * one.useful_share.share for one in pools) / n_all
    chosen = EFFECT * sum(one.useful for one in images)
    error = 1.96 * curve.error / curve.slope
    points, union = curve.points(chosen), gains.answer.union
    interval = (points * max(0.0, 1 - error), points * (1 + error))
    alone = (union.probe.gain, union.probe.interval, union.pools) if union else (None, None, ())
    return records.LabelPoints(n, points, interval, curve.points(n * share), *alone)


def _answer(record: records.Proposals, union: Union | None) -> str:
    """What to do, in one sentence."""
    images, pools, worth = record.images, record.pools, record.worth
    if not images:
        shares = [f"the useful share of {one.name} is {one.useful_share}" for one in pools]
        why = "no image is like the labelled ones"
        if any(one.useful_share.share >= FEW_USEFUL for one in pools):
            why = "what looks useful is a copy or has a label"
        return f"Nothing here is worth a label: {listed(shares)}, and {why}."
    these = "this image" if len(images) == 1 else f"these {len(images)} images"
    if worth is None:
        why = f"{record.n_labelled} labels do not tell what more of them are worth"
        if union:
            why += f"; {listed(union.pools)} without labels: {union.probe.gain:+.1f} points"
        return f"Label {these}; {why}."
    gain = f"{worth.chosen:+.1f} points expected, {worth.random:+.1f} if chosen at random"
    if worth.unlabelled is None:
        return f"Label {these}: {gain}; no pool is advised without labels."
    names = listed(worth.pools)
    if worth.unlabelled > worth.chosen:
        first = f"{worth.unlabelled:+.1f} points expected"
        return f"Use {names} without labels first: {first}; then label {these}: {gain}."
    return f"Label {these}: {gain}; {names} without labels: {worth.unlabelled:+.1f}."
