"""`mixmood.check`: what looks wrong in a labelled set."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mixmood.api.outputs import pictures_of
from mixmood.api.view_choice import sets_in_view
from mixmood.core.arrays import Array, Codes
from mixmood.core.cache import open_cache
from mixmood.core.errors import InputError
from mixmood.core.files import data_frame, written
from mixmood.core.listener import Listener, Silent
from mixmood.core.options import with_options
from mixmood.core.records.check import (
    CONFUSED,
    COPY,
    LABEL,
    SCHEMA,
    SMALL,
    TEST,
    UNLIKE,
    CheckedImage,
    CheckSummary,
    ConfusedPair,
    Finding,
    LabelCheck,
    Measured,
    WithoutFlaggedRecord,
)
from mixmood.core.records.labelling import MOST_IMAGES, LabelImage, LabelTask
from mixmood.core.text import counted, either_form, in_percent, listed
from mixmood.core.version import __version__
from mixmood.data.images.decode import COMPARED_SIDE, is_same_picture
from mixmood.data.images.labels import groups_of, minus_one_note, needed_labels
from mixmood.data.images.pool import FeatureSource, Pool, scaled, thumbnails
from mixmood.data.open import open_pool
from mixmood.evidence.accuracy import Estimate
from mixmood.evidence.labels import (
    CONFUSED_SHARE,
    FEWEST,
    FEWEST_CONFUSED,
    UNLIKE_SCORE,
    Copies,
    LabelEvidence,
    copies_among,
    copies_in_other_classes,
    held_together,
    unlikeness,
)
from mixmood.features.backbones.backbone import backbone_entry
from mixmood.features.sample import Sample
from mixmood.report.check import check_csv, check_page, check_rows, check_text
from mixmood.report.label import label_page
from mixmood.selection.plan import CheckPlan

MOST_PICTURES = 200
"""Findings that the page shows."""
PICTURE_SIDE = 160
"""Pixels: large enough to see a wrong label."""
N_NAMED = 3
"""Pairs and classes that a sentence names."""


class CheckReport(LabelCheck):
    """A checked labelled set with methods that show it as text, CSV, JSON or HTML."""

    # Not a field, so that it is not part of the record, its JSON or its equality.
    _pool: Pool | None = None

    @classmethod
    def of(cls, record: LabelCheck, pool: Pool | None = None) -> "CheckReport":
        """The report of a record; with the pool, its page has pictures."""
        report = cls(**vars(record))
        object.__setattr__(report, "_pool", pool)
        return report

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold: the record. Their page has no pictures."""
        return {name: value for name, value in vars(self).items() if name != "_pool"}

    def __repr__(self) -> str:
        """How many images are flagged by which checks."""
        found = ", ".join(f"{one.name} {one.n_flagged}" for one in self.checks if one.n_flagged)
        return f"<CheckReport: {self.n_flagged} of {self.n_images} images flagged; {found or '-'}>"

    def _repr_html_(self) -> str:
        """The text of the command line, for notebooks."""
        return f"<pre>{escape(self.to_text())}</pre>"

    def to_text(self) -> str:
        """The sentences and the table that the command prints."""
        return check_text(self)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Every image, the worst first; also written to `path`, if one is given."""
        return written(check_csv(self), path)

    def to_dataframe(self) -> Any:
        """The rows of `to_csv` as a table of pandas."""
        return data_frame(check_rows(self))

    def to_html(self, path: str | Path | None = None, *, command: str | None = None) -> str:
        """One self-contained page with pictures; also written to `path`, if one is given."""
        return written(check_page(self, self._pictures(), command), path)

    def to_review(self, path: str | Path | None = None) -> str:
        """A page to correct the labels of flagged images; also written to `path`.

        It saves mixmood-labels.csv. InputError for features, and if there are no pictures.
        """
        if self._pool is None:
            raise InputError(f"{self!r} was loaded: it has no pictures. Check the set again.")
        first = {one.index: one for one in reversed(self.findings)}
        worst = list(dict.fromkeys(one.index for one in self.findings))[:MOST_IMAGES]
        images = tuple(
            LabelImage(
                self.labelled,
                first[row].path,
                row,
                ((first[row].suggested, first[row].score),) if first[row].suggested else (),
                first[row].label,
                first[row].why,
            )
            for row in worst
        )
        title = f"Which class has each of {counted(len(images), 'flagged image')}?"
        task = LabelTask(title, "The most doubtful first", tuple(self.classes), images)
        pictures = pictures_of(images, {self.labelled: self._pool})
        return written(label_page(task, pictures), path)

    def _pictures(self) -> dict[int, str | None]:
        rows = list(dict.fromkeys(one.index for one in self.findings))[:MOST_PICTURES]
        if self._pool is None or isinstance(self._pool, FeatureSource):
            return {}
        return dict(zip(rows, thumbnails(self._pool, rows, PICTURE_SIDE), strict=True))


@with_options(CheckPlan)
def check(labelled: Any, *, plan: CheckPlan, listener: Listener | None = None) -> CheckReport:
    """Which labels look wrong, which images do not belong, and which classes are confused.

    Args:
        labelled: The labelled images, in any of the ways that `rank` takes.
        listener: Gets progress, warnings and notes.
    """
    # The fits are small: with threads of BLAS a check of 2,000 images takes 1.7 times as long.
    with threadpool_limits(1, user_api="blas"):
        return _checked(labelled, plan, listener or Silent())


def _checked(labelled: Any, plan: CheckPlan, listener: Listener) -> CheckReport:
    with open_cache(plan.cache, listener) or nullcontext() as store:

        def opened(what: Any, role: str) -> Pool:
            return open_pool(what, seed=plan.seed, cache=store, role=role, frames=plan.frames)

        base = opened(labelled, "labelled set")
        needed_labels(base)
        other = None if plan.against is None else opened(plan.against, "test set")
        sets = sets_in_view(base, {}, plan, plan.jobs, store, listener)
        sample, test = sets.extractor.read(sets.labelled).not_empty(), None
        if other is not None:
            pixel_range = getattr(sets.opened, "pixel_range", None)
            test = sets.extractor.read(scaled(other, pixel_range)).not_empty()
    listener.start("checks", None)
    members = groups_of(sets.labelled, plan.groups)
    found = _Checks(sample, plan, test, None if members is None else members[sample.rows])
    warnings = [*sets.given.notes, *sample.warnings, minus_one_note(found.names), *found.warnings]
    record = LabelCheck(
        schema=SCHEMA,
        mixmood=__version__,
        seed=plan.seed,
        labelled=sets.labelled.name,
        n_images=len(sample),
        n_unreadable=len(sample.unreadable),
        classes=dict(zip(found.names, found.counts.tolist(), strict=True)),
        accuracy=_measured(found.evidence.accuracy) if found.is_judged else None,
        checks=tuple(found.summaries()),
        findings=found.findings,
        confused=found.confused,
        without_flagged=found.without_flagged,
        images=found.images(),
        backbone=backbone_entry(sets.extractor.backbone),
        view=sets.view_entry,
        warnings=tuple(text for text in warnings if text),
    )
    listener.finish("checks")
    return CheckReport.of(record, sets.labelled)


@dataclass(frozen=True, eq=False)
class _Checks:
    """All checks of the readable images of a labelled set."""

    sample: Sample
    plan: CheckPlan
    test: Sample | None
    members: Codes | None
    """The group of each image."""

    @cached_property
    def _classes(self) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """The classes that have a readable image, and the code of each image among them."""
        found, codes = np.unique(self.sample.codes, return_inverse=True)
        if len(found) < 2:
            raise InputError(
                f"A check needs readable images of two classes; {self.sample.pool.name} has "
                f"{len(found)}. Label images of another class too."
            )
        names = needed_labels(self.sample.pool).names
        return tuple(names[code] for code in found), codes

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the classes."""
        return self._classes[0]

    @property
    def codes(self) -> NDArray[np.int64]:
        """The class of each image, shape (n,)."""
        return self._classes[1]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many images each class has."""
        return np.bincount(self.codes)

    @cached_property
    def evidence(self) -> LabelEvidence:
        """The labels, judged by held-out heads."""
        groups = held_together(self.copies, self.members)
        return LabelEvidence(self.sample.features, self.codes, self.plan.seed, groups)

    @cached_property
    def why_not_judged(self) -> str:
        """Why no label can be held out; empty if some can."""
        try:
            _ = self.evidence.folds
        except InputError as error:
            return f"Labels were not judged: {error}"
        return ""

    @property
    def is_judged(self) -> bool:
        """Whether some labels could be held out."""
        return not self.why_not_judged

    @cached_property
    def copies(self) -> Copies:
        """The nearest image of another class for each image."""
        found = copies_in_other_classes(self.sample.features, self.codes)
        return _by_pictures(found, self.sample, self.sample)

    @cached_property
    def in_test(self) -> Copies | None:
        """The nearest test image for each image; None without a test set."""
        if self.test is None:
            return None
        found = copies_among(self.sample.features, self.test.features)
        return _by_pictures(found, self.sample, self.test)

    @cached_property
    def scores(self) -> dict[str, Array]:
        """The score of each image by each check, shape (n,)."""
        shares, sizes = np.zeros(len(self.names)), FEWEST / (FEWEST + self.counts)
        found: dict[str, Array] = {}
        if self.is_judged:
            found[LABEL] = self.evidence.scores
            shares = self.evidence.confusion.max(axis=1)
            sizes = np.where(self.evidence.never_recognised, 1.0, sizes)
        found |= {COPY: self.copies.cosines}
        found |= {UNLIKE: unlikeness(self.sample.features, self.codes)}
        found |= {CONFUSED: shares[self.codes], SMALL: sizes[self.codes]}
        return found | ({TEST: self.in_test.cosines} if self.in_test else {})

    @cached_property
    def flags(self) -> dict[str, NDArray[np.bool_]]:
        """Which images each check flags, shape (n,)."""
        scores = self.scores
        found = {LABEL: self.evidence.is_flagged} if self.is_judged else {}
        found[COPY] = self.copies.is_copy
        # An image of another class is far from its own: its label says that already.
        found[UNLIKE] = (scores[UNLIKE] >= UNLIKE_SCORE) & ~found.get(LABEL, np.zeros(1, bool))
        paired = [name for pair in self.confused for name in pair.classes]
        found[CONFUSED] = np.isin(self.codes, [self.names.index(name) for name in paired])
        found[SMALL] = np.isin(self.codes, self._small)
        return found | ({TEST: self.in_test.is_copy} if self.in_test else {})

    @cached_property
    def confused(self) -> tuple[ConfusedPair, ...]:
        """Pairs of classes that are confused, the worst first."""
        if not self.is_judged:
            return ()
        shares, counts, pairs = self.evidence.confusion, self.counts, []
        for a, b in np.argwhere(np.triu(shares) >= CONFUSED_SHARE).tolist():
            n_images = round(float(shares[a, b]) * int(counts[a] + counts[b]))
            if n_images >= FEWEST_CONFUSED:
                names = (self.names[a], self.names[b])
                pairs.append(ConfusedPair(names, float(shares[a, b]), n_images))
        return tuple(sorted(pairs, key=lambda one: -one.share))

    @property
    def _small(self) -> list[int]:
        """The classes that are too small to learn."""
        is_small = self.counts < FEWEST
        if self.is_judged:
            is_small = is_small | self.evidence.never_recognised
        return np.flatnonzero(is_small).tolist()

    @cached_property
    def without_flagged(self) -> WithoutFlaggedRecord | None:
        """What the set would gain without the flagged labels; None if none is."""
        if not self.is_judged or not self.flags[LABEL].any():
            return None
        found = self.evidence.without_flagged
        if found is None:
            return None
        return WithoutFlaggedRecord(*map(_measured, (found.before, found.after, found.gain)))

    @property
    def warnings(self) -> Iterator[str]:
        """Facts that may make the result wrong."""
        if self.why_not_judged:
            yield self.why_not_judged
        if self.test is not None:
            yield from (f"{self.test.pool.name}: {text}" for text in self.test.warnings)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What checks of single images flag, the worst first."""
        found = [
            self._finding(check, row)
            for check in (COPY, TEST, LABEL, UNLIKE)
            if check in self.flags
            for row in np.flatnonzero(self.flags[check]).tolist()
        ]
        return tuple(sorted(found, key=lambda one: -one.score))

    def _finding(self, check: str, row: int) -> Finding:
        suggested, why = getattr(self, f"_why_{check}")(row)
        index = int(self.sample.rows[row])
        return Finding(
            self.sample.pool.locate(index),
            index,
            self.names[self.codes[row]],
            suggested,
            round(float(self.scores[check][row]), 6),
            True,
            check,
            why,
        )

    def _why_label(self, row: int) -> tuple[str, str]:
        own, other = self.codes[row], self.evidence.suggested[row]
        chances = self.evidence.chances[row]
        shares = [f"{self.names[code]} {in_percent(chances[code])}" for code in (other, own)]
        return self.names[other], f"Classifiers that did not see its label give {listed(shares)}."

    def _why_copy(self, row: int) -> tuple[str, str]:
        other = int(self.copies.rows[row])
        place = self.sample.pool.locate(int(self.sample.rows[other]))
        name = self.names[self.codes[other]]
        kind = self._kind(self.sample.contents[row] == self.sample.contents[other])
        # Heads say which of the two labels is wrong, if they flag this one.
        is_wrong = self.is_judged and self.evidence.scores[row] > self.evidence.scores[other]
        return name if is_wrong else "", f"{kind} of {place}, which is labelled {name}."

    def _why_test(self, row: int) -> tuple[str, str]:
        assert self.in_test is not None and self.test is not None  # noqa: PT018 - for types
        other = int(self.in_test.rows[row])
        kind = self._kind(self.sample.contents[row] == self.test.contents[other])
        return "", f"{kind} of the test image {self.test.pool.locate(int(self.test.rows[other]))}."

    def _why_unlike(self, row: int) -> tuple[str, str]:
        score = float(self.scores[UNLIKE][row])
        times = score / (1 - score) if score < 1 else np.inf
        return "", f"{times:.1f} times as far from its class as is usual."

    @staticmethod
    def _kind(is_equal: bool) -> str:
        return "A copy" if is_equal else "A near copy"

    def summaries(self) -> Iterator[CheckSummary]:
        """One sentence for each check."""
        n_flagged = {name: int(flags.sum()) for name, flags in self.flags.items()}
        images = {name: counted(n, "image") for name, n in n_flagged.items()}

        def summary(name: str, none: str, some: str) -> CheckSummary:
            return CheckSummary(name, n_flagged[name], some if n_flagged[name] else none)

        if self.is_judged:
            look = either_form(n_flagged[LABEL], "label looks", "labels look")
            text = "classifiers that did not see them find another class twice as probable."
            some = f"{n_flagged[LABEL]:,} {look} wrong: {text}"
            none = "No label looks wrong."
            if self.counts.max() < FEWEST:
                none = f"Not judged: every class has fewer than {FEWEST} images."
            yield summary(LABEL, none, some)
        some = f"{images[COPY]} with a copy or near copy in another class."
        yield summary(COPY, "No copies in two classes.", some)
        some = f"{images[UNLIKE]} unlike all others of the class."
        yield summary(UNLIKE, "No image is unlike its class.", some)
        pairs = [
            f"{' and '.join(one.classes)} ({one.n_images} images, {in_percent(one.share)})"
            for one in self.confused
        ]
        some = f"Classes taken for each other: {_first(pairs)}."
        yield summary(CONFUSED, "No two classes are confused.", some)
        sizes = self.counts.tolist()
        small = [f"{self.names[code]} ({counted(sizes[code], 'image')})" for code in self._small]
        some = f"Too small to learn, or never recognised: {_first(small)}. Label more of them."
        if self.counts.min() < FEWEST <= self.counts.max():
            some += f" Labels of classes with fewer than {FEWEST} images are not judged."
        yield summary(SMALL, "No class is too small to learn.", some)
        if self.test is not None:
            name = self.test.pool.name
            some = f"{images[TEST]} also in {name}, or nearly: accuracy there is too good."
            yield summary(TEST, f"No image is also in {name}.", some)

    def images(self) -> tuple[CheckedImage, ...]:
        """All images with all scores."""
        columns = {name: values.tolist() for name, values in self.scores.items()}
        others = self.evidence.suggested.tolist() if self.is_judged else None
        places = self.sample.rows.tolist()
        return tuple(
            CheckedImage(
                self.sample.pool.locate(index),
                index,
                self.names[self.codes[row]],
                "" if others is None else self.names[others[row]],
                {name: round(values[row], 6) for name, values in columns.items()},
                tuple(name for name, flags in self.flags.items() if flags[row]),
            )
            for row, index in enumerate(places)
        )


def _by_pictures(found: Copies, images: Sample, others: Sample) -> Copies:
    """The copies, with those that features miss: other sizes and encodings of one picture."""
    pool, other_pool = images.pool, others.pool
    if isinstance(pool, FeatureSource) or isinstance(other_pool, FeatureSource):
        return found
    rows = found.to_compare
    is_same = np.zeros(len(found.rows), bool)
    ones = pool.read(images.rows[rows], COMPARED_SIDE)
    twins = other_pool.read(others.rows[found.rows[rows]], COMPARED_SIDE)
    for row, one, twin in zip(rows.tolist(), ones, twins, strict=True):
        if isinstance(one, np.ndarray) and isinstance(twin, np.ndarray):
            is_same[row] = is_same_picture(one, twin)
    return replace(found, is_same=is_same)


def _measured(found: Estimate) -> Measured:
    return Measured(found.value, (found.low, found.high))


def _first(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = [f"{len(names) - N_NAMED} more"] if len(names) > N_NAMED else []
    return listed([*names[:N_NAMED], *more])
