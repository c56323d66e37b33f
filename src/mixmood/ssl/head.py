"""Training a head on pools of images: features, choice of the algorithm, record; no torch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.core.listener import Listener, Recorder
from mixmood.core.seeds import rng_for
from mixmood.core.text import counted, either_form, first_names
from mixmood.data.images.labels import groups_of, minus_one_note, needed_labels
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import ImageSource
from mixmood.evidence.accuracy import accuracy_of, never_predicted_warning
from mixmood.evidence.labelled import judged_part
from mixmood.evidence.labels import doubtful_sentence
from mixmood.evidence.view import BASE, ChosenView, TrainedHead, train_head
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.reading import Reading
from mixmood.features.sample import Sample
from mixmood.ssl.head_model import FEATURES, Typicality, check_model, fit_typicality, model_file
from mixmood.ssl.plan import TrainingRunPlan
from mixmood.ssl.pools import codes_among, few_classes
from mixmood.ssl.record import HeadAccuracy, HeadRecord, MeasuredGain, PoolUse

LEAST_OF_POOL = 200  # of every pool that is used, at least so many images are taken, if it has them


@dataclass(frozen=True)
class PoolPart:
    """What to use of a pool, and why."""

    use: PoolUse  # the entry in the record, before it is known how many images are used
    reading: Reading  # the images that were judged; it reads more in the same order
    weight: float  # how many useful images the pool is thought to have; 0 if it is not used


@dataclass(frozen=True)
class PoolDecision:
    """The head to train and the pools to train it with."""

    algorithm: str
    reason: str
    parts: tuple[PoolPart, ...] = ()


@dataclass(frozen=True, eq=False)
class HeadTask:
    """The data that a head is trained and tested on, embedded and checked."""

    labelled: Sample
    names: tuple[str, ...]  # of the classes that have a readable image
    codes: Codes  # the class of each labelled image among them, shape (n,)
    groups: Codes | None  # of each labelled image, shape (n,); each its own if None
    test: Sample | None
    test_codes: Codes | None
    view: ChosenView | None  # the backbone in the view of the labelled images; None for features
    plan: TrainingRunPlan
    decision: PoolDecision = PoolDecision(BASE, "")
    pools: tuple[Sample, ...] = ()  # the images that are used of each pool that is used
    uses: tuple[PoolUse, ...] = ()  # what was used of all pools

    @property
    def backbone(self) -> Backbone | None:
        """The network that computed the features; None if they were given."""
        return None if self.view is None else self.view.backbone

    @property
    def pixel_range(self) -> PixelRange | None:
        """How images of more than eight bits are scaled; None if there are none."""
        pool = self.labelled.pool
        return pool.pixel_range if isinstance(pool, ImageSource) else None

    @property
    def pool(self) -> Array | None:
        """The features of all pool images that are used, shape (m, d); None if there are none."""
        rows = [sample.features for sample in self.pools]
        return np.concatenate(rows) if rows else None

    @property
    def useful(self) -> Array | None:
        """The chance of each image in `pool` to be useful, by its own pool; None if unused."""
        parts = [
            judged_part(self.labelled.features, self.codes, sample.features, self.plan.seed).useful
            for sample in self.pools
        ]
        return np.concatenate(parts) if parts else None

    def known(self) -> dict[str, Any]:
        """Facts about the model that `predict` needs."""
        backbone, pixel_range = self.backbone, self.pixel_range
        side = None if backbone is None else backbone.resolution
        return {
            "schema": 1,
            "class_names": self.names,
            "height": side,
            "width": side,
            "channels": 3,
            "backbone": None if self.view is None else self.view.name,
            "depth": None if backbone is None else backbone.depth,
            "pixel_range": None if pixel_range is None else pixel_range.describe(),
        }


def labelled_task(
    labelled: Sample,
    test: Sample | None,
    view: ChosenView | None,
    plan: TrainingRunPlan,
    listener: Listener,
) -> HeadTask:
    """The task without pools; refuses classes that cannot be trained or tested."""
    names, codes = _used_classes(labelled, listener)
    groups, test_codes = groups_of(labelled.pool, plan.groups), None
    if test is not None:
        own = needed_labels(test.pool, "test set")
        test_codes = codes_among(names, own.names, test.codes)
        if count := int(test.is_copy_of(labelled).sum()):
            are = either_form(count, "is", "are")
            listener.warn(
                f"{test.pool.name}: {counted(count, 'image')} {are} also among the labelled "
                "images: their accuracy is too good."
            )
    groups = None if groups is None else groups[labelled.rows]
    return HeadTask(labelled, names, codes, groups, test, test_codes, view, plan)


def _without_copies(sample: Sample, others: Sequence[Sample], listener: Listener) -> Sample:
    """The images that no other pool has; one warning names the pools that have the rest."""
    n_before, names = len(sample), []
    for other in others:
        is_copy = sample.is_copy_of(other)
        names += [other.pool.name] if is_copy.any() else []
        sample = sample.where(~is_copy)
    if n_copies := n_before - len(sample):
        are = either_form(n_copies, "is", "are")
        listener.warn(
            f"{sample.pool.name}: {counted(n_copies, 'image')} {are} also in "
            f"{first_names(names)}, and counted once."
        )
    return sample


def with_pools(task: HeadTask, decision: PoolDecision, listener: Listener) -> HeadTask:
    """The task with the pools that are used, of which more images are read."""
    samples: list[Sample] = []
    uses: list[PoolUse] = []
    weights = [part.weight for part in decision.parts]
    sizes = [part.use.n_images for part in decision.parts]
    quotas = shared_out(task.plan.pool_limit, weights, sizes)
    for part, quota in zip(decision.parts, quotas, strict=True):
        use, reading = part.use, part.reading
        if part.weight:
            reading = reading.read_on(quota, task.labelled, beyond=True)
        for text in reading.warnings:
            listener.warn(f"{use.name}: {text}")
        if part.weight:
            sample = reading.sample.where(np.arange(len(reading.sample)) < quota)
            sample = _without_copies(sample, samples, listener)
            if quota < use.n_images:
                listener.warn(
                    f"{use.name}: a random sample of {quota:,} of its {use.n_images:,} images is "
                    "used; --pool-limit changes that."
                )
            if len(sample):
                samples.append(sample)
                use = replace(use, n_used=len(sample))
            else:
                use = replace(use, reason=f"its images are in other pools; {use.reason}")
        uses.append(use)
    return replace(task, decision=decision, pools=tuple(samples), uses=tuple(uses))


def shared_out(limit: int, weights: Sequence[float], sizes: Sequence[int]) -> list[int]:
    """How many images of each pool are used: in proportion to the weights, but not too few.

    >>> shared_out(3000, [900.0, 100.0, 0.0], [5000, 1000, 800])
    [2700, 300, 0]
    >>> shared_out(1000, [900.0, 1.0], [5000, 5000]), shared_out(3000, [5.0], [40])
    ([800, 200], [40])
    """
    is_used, total = [weight > 0 for weight in weights], sum(weights)
    most = min(LEAST_OF_POOL, limit // max(sum(is_used), 1))
    least = [min(most, size) * used for used, size in zip(is_used, sizes, strict=True)]
    fair = [
        max(low, min(size, round(limit * weight / (total or 1))))
        for low, size, weight in zip(least, sizes, weights, strict=True)
    ]
    # Pools that were raised to the least number are paid for by the largest.
    while (over := sum(fair) - limit) > 0:
        largest = max(range(len(fair)), key=lambda k: fair[k] - least[k])
        if fair[largest] == least[largest]:
            break
        fair[largest] -= min(over, fair[largest] - least[largest])
    return fair


def _used_classes(labelled: Sample, listener: Listener) -> tuple[tuple[str, ...], Codes]:
    """The classes that have a readable image, and the code of every image among them."""
    labels = needed_labels(labelled.pool, "labelled set")
    counts = replace(labels, codes=labelled.codes.astype(np.int32)).counts()
    names = tuple(name for name, count in counts.items() if count)
    if missing := [name for name, count in counts.items() if not count]:
        listener.warn(f"Classes without a readable image are left out: {first_names(missing)}.")
    if len(names) < 2:
        raise few_classes(names)
    if note := minus_one_note(labels.names):
        listener.warn(note)
    if single := [name for name, count in counts.items() if count == 1]:
        listener.warn(
            "Classes with only one image, whose accuracy cannot be estimated: "
            f"{first_names(single)}."
        )
    return names, np.searchsorted(np.unique(labelled.codes), labelled.codes)


MOST_CONFUSION_CLASSES = 200  # with more, the record has no confusion table


def record_of(
    task: HeadTask, trained: TrainedHead, typicality: Typicality, takes: str
) -> HeadRecord:
    """The record; time and warnings are added when the run ends."""
    names, pool, shares, n_changed = task.names, task.pool, None, None
    if pool is not None:
        guesses = trained.head.predict(pool)
        counts = np.bincount(guesses, minlength=len(names)) / max(1, len(guesses))
        shares = dict(zip(names, counts.tolist(), strict=True))
        if BASE in trained.others:
            n_changed = int((trained.others[BASE].predict(pool) != guesses).sum())
    test, measured, gain = None, None, trained.gain
    if task.test is not None:
        test = float((trained.head.predict(task.test.features) == task.test_codes).mean())
    accuracy = HeadAccuracy(None, None, test)
    if found := accuracy_of(trained.logits, task.codes, names, task.groups):
        accuracy = HeadAccuracy(
            found.value, found.interval, test, found.balanced, found.never_predicted
        )
    if gain is not None:
        measured = MeasuredGain(100 * gain.value, (100 * gain.low, 100 * gain.high))
    return HeadRecord(
        algorithm=trained.name,
        asked=task.plan.algorithm,
        reason=task.decision.reason or trained.reason,
        accuracy=accuracy,
        measured=measured,
        class_names=names,
        class_counts=tuple(np.bincount(task.codes, minlength=len(names)).tolist()),
        n_labelled=len(task.codes),
        n_pool=sum(use.n_images for use in task.uses),
        n_unlabelled=0 if pool is None else len(pool),
        n_test=0 if task.test is None else len(task.test.features),
        n_unreadable=sum(len(read.unreadable) for read in (task.labelled, *task.pools)),
        n_groups=None if task.groups is None else len(np.unique(task.groups)),
        backbone=None if task.backbone is None else task.backbone.describe(),
        view=None if task.view is None else task.view.describe(),
        pixel_range=None if task.pixel_range is None else task.pixel_range.describe(),
        takes=takes,
        temperature=float(trained.head.temperature),
        threshold=typicality.threshold,
        confusion=confusion(trained.logits, task.codes, len(names)),
        pool_shares=shares,
        n_changed=n_changed,
        pools=task.uses,
        seed=task.plan.seed,
        elapsed_s=0.0,
    )


def confusion(logits: Array, codes: Codes, n_classes: int) -> tuple[tuple[float, ...], ...] | None:
    """Counts of images by class (rows) and predicted class (columns), averaged over repeats.

    Images whose logits, shape (repeats, n, k), are NaN were never held out and are not counted.
    """
    if n_classes > MOST_CONFUSION_CLASSES:
        return None
    counts = np.zeros((n_classes, n_classes))
    for repeat in logits:
        is_held_out = np.isfinite(repeat).all(axis=1)
        predicted = repeat[is_held_out].argmax(axis=1)
        np.add.at(counts, (codes[is_held_out], predicted), 1 / len(logits))
    return tuple(tuple(row) for row in counts.round(6).tolist())


@dataclass(frozen=True)
class HeadRun:
    """A finished head: its record, its ONNX file, and the data for its page."""

    record: HeadRecord
    model: bytes
    task: HeadTask
    trained: TrainedHead


def trained_head(task: HeadTask, recorder: Recorder) -> HeadRun:
    """A head on the frozen features of labelled images and pools; its record has no time yet."""
    backbone, images, seed = task.backbone, task.labelled, task.plan.seed
    if task.pixel_range is not None:
        recorder.note(task.pixel_range.sentence())
    trained = train_head(
        images.features,
        task.codes,
        len(task.names),
        task.pool,
        rng_for(seed, "head"),
        algorithm=task.decision.algorithm,
        useful=task.useful,
        groups=task.groups,
        views=None if task.view is None else task.view.evidence,
    )
    if doubtful := doubtful_sentence(
        images.features,
        task.codes,
        task.names,
        lambda row: images.pool.locate(int(images.rows[row])),
        seed,
        task.groups,
    ):
        recorder.warn(doubtful)
    typicality = fit_typicality(images.features, rng_for(seed, "typicality"), task.groups)
    known = task.known() | {"threshold": typicality.threshold}
    model, takes = model_file(trained.head, typicality, backbone, known)
    check_model(model, takes, images, known["height"], trained.head, typicality)
    if takes == FEATURES and backbone is not None:
        recorder.warn(
            f"The backbone {backbone.name} cannot be part of model.onnx: the file holds the head "
            "only, and takes features."
        )
    if backbone is not None and backbone.is_batch_dependent:
        recorder.warn(
            f"The features of {backbone.name} depend on the other images of a batch: the "
            "accuracy does not hold where few images, or images of few classes, are classified "
            "together."
        )
    record = record_of(task, trained, typicality, takes)
    sizes = dict(zip(record.class_names, record.class_counts, strict=True))
    if text := never_predicted_warning(record.accuracy.never_predicted, sizes):
        recorder.warn(f"{images.pool.name}: {text}")
    return HeadRun(replace(record, warnings=tuple(recorder.warnings)), model, task, trained)
