"""What looks wrong in a labelled set: which images each check flags, why, and what it found."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Mask
from mixmood.core.errors import InputError
from mixmood.core.records import check as records
from mixmood.core.records.check import COPY, LABEL, TEST, UNLIKE, ConfusedPair, Finding, LabelCheck
from mixmood.core.text import counted, either_form, first_names, in_percent, listed
from mixmood.core.version import __version__
from mixmood.data.images.decode import COMPARED_SIDE, is_same_picture
from mixmood.data.images.labels import groups_of, minus_one_note, needed_labels
from mixmood.data.images.pool import FeatureSource
from mixmood.evidence import labels
from mixmood.evidence.labels import FEWEST, Copies, LabelEvidence
from mixmood.features.backbones.backbone import Backbone, backbone_entry
from mixmood.features.sample import Sample
from mixmood.selection.plan import CheckPlan

N_NAMED = 3  # pairs and classes that a sentence names


def label_check(
    sample: Sample,
    test: Sample | None,
    plan: CheckPlan,
    backbone: Backbone | None,
    view: dict[str, Any] | None,
    notes: Sequence[str],
) -> LabelCheck:
    """The record of a checked set, from its readable images, test images and further warnings."""
    images = _labelled_images(sample, plan)
    checks, judged = list(_checks(images, test)), images.judged
    warnings = [*notes, *sample.warnings, minus_one_note(images.names), images.why_not_judged]
    warnings += sample.repetition_warning
    if test is not None:
        warnings += [f"{test.pool.name}: {text}" for text in test.warnings]
    return LabelCheck(
        schema=records.SCHEMA,
        mixmood=__version__,
        seed=plan.seed,
        labelled=sample.pool.name,
        n_images=len(sample),
        n_unreadable=len(sample.unreadable),
        classes=dict(zip(images.names, images.counts.tolist(), strict=True)),
        accuracy=None if judged is None else judged.accuracy.measured,
        checks=tuple(one.summary for one in checks),
        findings=_findings(images, checks),
        confused=images.confused,
        without_flagged=judged.without_flagged if judged and judged.is_flagged.any() else None,
        images=_all_images(images, checks),
        backbone=backbone_entry(backbone),
        view=view,
        warnings=tuple(filter(None, warnings)),
    )


@dataclass(frozen=True, eq=False)
class _Labelled:
    """The readable images of a labelled set."""

    sample: Sample
    names: tuple[str, ...]  # of the classes that have one
    codes: NDArray[np.int64]  # among these classes
    copies: Copies  # the nearest images of other classes
    judged: LabelEvidence | None  # None if no label can be held out
    why_not_judged: str

    @property
    def counts(self) -> NDArray[np.int64]:
        return np.bincount(self.codes)

    def place(self, row: int) -> str:
        return self.sample.pool.locate(int(self.sample.rows[row]))

    def label(self, row: int) -> str:
        return self.names[int(self.codes[row])]

    @cached_property
    def confused(self) -> tuple[ConfusedPair, ...]:
        if self.judged is None:
            return ()
        pairs = []
        for a, b in np.argwhere(np.triu(self.judged.confusion) >= labels.CONFUSED_SHARE).tolist():
            share = float(self.judged.confusion[a, b])
            n_images = int(self.judged.n_confused[a, b])
            if n_images >= labels.FEWEST_CONFUSED:
                pairs.append(ConfusedPair((self.names[a], self.names[b]), share, n_images))
        return tuple(sorted(pairs, key=lambda one: -one.share))


def _labelled_images(sample: Sample, plan: CheckPlan) -> _Labelled:
    members = groups_of(sample.pool, plan.groups)
    found, codes = np.unique(sample.codes, return_inverse=True)
    if len(found) < 2:
        raise InputError(
            f"A check needs readable images of two classes; {sample.pool.name} has {len(found)}. "
            "Label images of another class too."
        )
    names = tuple(needed_labels(sample.pool).names[code] for code in found)
    copies = labels.copies_in_other_classes(sample.features, codes)
    copies = _with_same_pictures(copies, sample, sample)
    groups = labels.held_together(copies, None if members is None else members[sample.rows])
    judged = LabelEvidence(sample.features, codes, plan.seed, groups)
    try:
        _ = judged.folds
    except InputError as error:
        return _Labelled(sample, names, codes, copies, None, f"Labels were not judged: {error}")
    return _Labelled(sample, names, codes, copies, judged, "")


def _with_same_pictures(found: Copies, images: Sample, others: Sample) -> Copies:
    """The copies, with those that features miss: other sizes and encodings of one picture."""
    pool, other_pool = images.pool, others.pool
    if isinstance(pool, FeatureSource) or isinstance(other_pool, FeatureSource):
        return found
    rows, is_same = found.to_compare, np.zeros(len(found.rows), bool)
    ones = pool.read(images.rows[rows], COMPARED_SIDE)
    twins = other_pool.read(others.rows[found.rows[rows]], COMPARED_SIDE)
    for row, one, twin in zip(rows.tolist(), ones, twins, strict=True):
        if isinstance(one, np.ndarray) and isinstance(twin, np.ndarray):
            is_same[row] = is_same_picture(one, twin)
    return replace(found, is_same=is_same)


class _Check(NamedTuple):
    """One check, with a score and a flag for each image, both of shape (n,)."""

    name: str
    scores: Array  # from 0 to 1; larger is worse
    flags: Mask
    nothing: str  # the sentence if no image is flagged
    found: str  # the sentence if some are
    why: Callable[[int], tuple[str, str]] = lambda row: ("", "")  # a class, a sentence

    @property
    def summary(self) -> records.CheckSummary:
        n_flagged = int(self.flags.sum())
        return records.CheckSummary(self.name, n_flagged, self.found if n_flagged else self.nothing)


def _checks(images: _Labelled, test: Sample | None) -> Iterator[_Check]:
    """All checks. To add one, yield its scores, its flags and its sentences here."""
    is_wrong = np.zeros(len(images.codes), bool)
    if images.judged is not None:
        is_wrong = images.judged.is_flagged
        yield _wrong_labels(images, images.judged)
    yield _copies_in_two_classes(images)
    # An image of another class is far from its own: its label says that already.
    yield _unlike_its_class(images, ~is_wrong)
    yield _confused_classes(images)
    yield _small_classes(images)
    if test is not None:
        yield _copies_of_test_images(images, test)


def _wrong_labels(images: _Labelled, judged: LabelEvidence) -> _Check:
    def why(row: int) -> tuple[str, str]:
        other, chances = judged.suggested[row], judged.chances[row]
        codes = (other, images.codes[row])
        shares = listed([f"{images.names[code]} {in_percent(chances[code])}" for code in codes])
        return images.names[other], f"Classifiers that did not see its label give {shares}."

    n_flagged = int(judged.is_flagged.sum())
    look = either_form(n_flagged, "label looks", "labels look")
    nothing = "No label looks wrong."
    if images.counts.max() < FEWEST:
        nothing = f"Not judged: every class has fewer than {FEWEST} images."
    found = (
        f"{n_flagged:,} {look} wrong: classifiers that did not see them find another class twice "
        "as probable."
    )
    return _Check(LABEL, judged.scores, judged.is_flagged, nothing, found, why)


def _copies_in_two_classes(images: _Labelled) -> _Check:
    contents, judged = images.sample.contents, images.judged

    def why(row: int) -> tuple[str, str]:
        other = int(images.copies.rows[row])
        name, kind = images.label(other), _kind(contents[row], contents[other])
        # Heads say which of the two labels is wrong, if they flag this one.
        is_wrong = judged is not None and judged.scores[row] > judged.scores[other]
        sentence = f"{kind} of {images.place(other)}, which is labelled {name}."
        return name if is_wrong else "", sentence

    flags = images.copies.is_copy
    found = f"{counted(int(flags.sum()), 'image')} with a copy or near copy in another class."
    return _Check(COPY, images.copies.cosines, flags, "No copies in two classes.", found, why)


def _kind(content: bytes, other: bytes) -> str:
    return "A copy" if content == other else "A near copy"


def _unlike_its_class(images: _Labelled, may_be: Mask) -> _Check:
    scores = labels.unlikeness(images.sample.features, images.codes)

    def why(row: int) -> tuple[str, str]:
        times = scores[row] / (1 - scores[row]) if scores[row] < 1 else np.inf
        return "", f"{times:.1f} times as far from its class as is usual."

    flags = (scores >= labels.UNLIKE_SCORE) & may_be
    found = f"{counted(int(flags.sum()), 'image')} unlike all others of the class."
    return _Check(UNLIKE, scores, flags, "No image is unlike its class.", found, why)


def _confused_classes(images: _Labelled) -> _Check:
    judged, n_classes = images.judged, len(images.names)
    shares = np.zeros(n_classes) if judged is None else judged.confusion.max(axis=1)
    codes = [images.names.index(name) for pair in images.confused for name in pair.classes]
    pairs = [
        f"{' and '.join(one.classes)} ({one.n_images} images, {in_percent(one.share)})"
        for one in images.confused
    ]
    found = f"Classes taken for each other: {first_names(pairs, N_NAMED)}."
    flags, scores = np.isin(images.codes, codes), shares[images.codes]
    nothing = "No two classes are confused."
    return _Check(records.CONFUSED, scores, flags, nothing, found)


def _small_classes(images: _Labelled) -> _Check:
    counts, judged = images.counts, images.judged
    scores, is_small = FEWEST / (FEWEST + counts), counts < FEWEST
    if judged is not None:
        scores = np.where(judged.never_recognised, 1.0, scores)
        is_small = is_small | judged.never_recognised
    small = [
        f"{name} ({counted(count, 'image')})"
        for name, count, own in zip(images.names, counts.tolist(), is_small, strict=True)
        if own
    ]
    named = first_names(small, N_NAMED)
    found = f"Too small to learn, or never recognised: {named}. Label more of them."
    if counts.min() < FEWEST <= counts.max():
        found += f" Labels of classes with fewer than {FEWEST} images are not judged."
    nothing = "No class is too small to learn."
    return _Check(records.SMALL, scores[images.codes], is_small[images.codes], nothing, found)


def _copies_of_test_images(images: _Labelled, test: Sample) -> _Check:
    sample, name = images.sample, test.pool.name
    copies = labels.copies_among(sample.features, test.features)
    copies = _with_same_pictures(copies, sample, test)

    def why(row: int) -> tuple[str, str]:
        other = int(copies.rows[row])
        place = test.pool.locate(int(test.rows[other]))
        return "", f"{_kind(sample.contents[row], test.contents[other])} of the test image {place}."

    n_copies = counted(int(copies.is_copy.sum()), "image")
    found = f"{n_copies} also in {name}, or nearly: accuracy there is too good."
    return _Check(TEST, copies.cosines, copies.is_copy, f"No image is also in {name}.", found, why)


def _findings(images: _Labelled, checks: Sequence[_Check]) -> tuple[Finding, ...]:
    """What checks of single images flag, the worst first."""
    found, by_name = [], {one.name: one for one in checks}
    for check in (by_name[name] for name in (COPY, TEST, LABEL, UNLIKE) if name in by_name):
        for row in np.flatnonzero(check.flags).tolist():
            suggested, why = check.why(row)
            own = (images.place(row), int(images.sample.rows[row]), images.label(row), suggested)
            score = round(float(check.scores[row]), 6)
            found.append(Finding(*own, score, True, check.name, why))
    return tuple(sorted(found, key=lambda one: -one.score))


def _all_images(images: _Labelled, checks: Sequence[_Check]) -> tuple[records.CheckedImage, ...]:
    scores = {one.name: one.scores.tolist() for one in checks}
    others = [""] * len(images.codes)
    if images.judged is not None:
        others = [images.names[code] for code in images.judged.suggested]
    return tuple(
        records.CheckedImage(
            images.place(row),
            index,
            images.label(row),
            others[row],
            {name: round(values[row], 6) for name, values in scores.items()},
            tuple(one.name for one in checks if one.flags[row]),
        )
        for row, index in enumerate(images.sample.rows.tolist())
    )
