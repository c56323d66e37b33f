"""A head trained on pools of images: embed, choose, cross-validate, record."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.core.cache.features import FeatureCache, open_cache
from mixmood.core.errors import InputError, OutputError, TrainingError
from mixmood.core.progress import Progress
from mixmood.core.seeds import rng_for
from mixmood.data.pools.groups import group_codes, group_names
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import FeatureSource, Labels
from mixmood.data.pools.wide_images import fit_pixel_range
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.registry import load_backbone
from mixmood.heads.evaluation.choose import TrainedHead, train_head
from mixmood.heads.evaluation.compare import BASE, Comparison
from mixmood.ssl.head.embedding import Embedded, Embedder, labels_of, without_copies
from mixmood.ssl.head.graph import FEATURES, PROBABILITIES, TYPICALITY, model_file
from mixmood.ssl.head.record import AlgorithmGain, HeadAccuracy, HeadRecord
from mixmood.ssl.head.typicality import Typicality, fit_typicality
from mixmood.ssl.plan import TrainingPlan

FEW, N_REPEATS = 300, 3
"""Up to so many labelled images, the cross-validation is repeated so often; beyond, done once."""
MOST_SHOWN = 200
"""With more classes, no confusion table is kept."""
CHECKED, TOLERANCE = 16, 1e-3


@dataclass(frozen=True)
class HeadRun:
    """A finished head: record, file, and what a page is drawn from."""

    record: HeadRecord
    model: bytes
    """The ONNX file."""
    labelled: Embedded
    codes: NDArray[np.int64]
    """The class of each labelled image, by its place in the names of the record."""
    pool: Embedded | None
    trained: TrainedHead


def train_head_on_images(
    labelled: Any,
    unlabelled: Any,
    test: Any,
    *,
    plan: TrainingPlan,
    cache: str | Path | None,
    progress: Progress,
    warn: Callable[[str], None],
    inform: Callable[[str], None],
) -> HeadRun:
    """A head on the frozen features of labelled images and a pool."""
    start, warnings = time.perf_counter(), list[str]()

    def note(message: str) -> None:
        warnings.append(message)
        warn(message)

    with open_cache(cache) or nullcontext() as store:
        task = _Task(labelled, unlabelled, test, plan, store, progress, note)
        if task.pixel_range is not None:
            inform(task.pixel_range.sentence())
        trained = train_head(
            task.labelled.features,
            task.codes,
            len(task.labels.names),
            None if task.pool is None else task.pool.features,
            rng_for(plan.seed, "head"),
            algorithm=plan.algorithm,
            groups=task.groups,
            n_repeats=N_REPEATS if len(task.codes) <= FEW else 1,
        )
    typicality = fit_typicality(
        task.labelled.features, rng_for(plan.seed, "typicality"), task.groups
    )
    known = task.known() | {"threshold": typicality.threshold}
    fresh = None if task.backbone is None else load_backbone(plan.backbone, plan.resolution)
    model, takes = model_file(trained.head, typicality, fresh, known)
    _check_model(model, takes, task, trained, typicality)
    if takes == FEATURES and task.backbone is not None:
        note(
            f"The backbone {task.backbone.name} has no ONNX form of its own: model.onnx holds the "
            "head alone, and takes features."
        )
    record = _record(task, trained, typicality, takes, plan)
    took_s = time.perf_counter() - start
    record = replace(record, elapsed_s=took_s, warnings=tuple(warnings))
    return HeadRun(record, model, task.labelled, task.codes, task.pool, trained)


class _Task:
    """Everything that a head is trained and tested on, embedded and checked."""

    def __init__(
        self,
        labelled: Any,
        unlabelled: Any,
        test: Any,
        plan: TrainingPlan,
        store: FeatureCache | None,
        progress: Progress,
        warn: Callable[[str], None],
    ) -> None:
        base = open_pool(labelled, seed=plan.seed, cache=store, role="labelled pool")
        has_features = isinstance(base, FeatureSource)
        self.backbone: Backbone | None = (
            None if has_features else load_backbone(plan.backbone, plan.resolution)
        )
        embedder = Embedder(
            self.backbone,
            seed=plan.seed,
            jobs=plan.threads,
            cache=store,
            progress=progress,
            warn=warn,
        )
        self.pixel_range = embedder.pixel_range = fit_pixel_range(base)
        self.labelled = embedder.embed(embedder.open(base, "labelled"))
        self.labels, self.codes = _used_labels(self.labelled, warn)
        self.groups = _groups(self.labelled, plan.groups)
        self.n_pool, self.pool = 0, None
        if unlabelled is not None:
            pool = embedder.open(unlabelled, "unlabelled")
            self.n_pool = len(pool)
            sampled = embedder.embed(pool, embedder.sample(pool, plan.pool_limit))
            self.pool = without_copies(sampled, self.labelled, warn)
        self.test = None
        if test is not None:
            self.test = embedder.embed(embedder.open(test, "test"))
            self.test_codes = _codes_in(self.test, self.labels)
            without_copies(self.test, self.labelled, _only_warn(warn))

    def known(self) -> dict[str, Any]:
        """What `predict` needs to know of a model."""
        side = None if self.backbone is None else self.backbone.resolution
        return {
            "schema": 1,
            "class_names": self.labels.names,
            "height": side,
            "width": side,
            "channels": 3,
            "backbone": None if self.backbone is None else self.backbone.name,
            "pixel_range": None if self.pixel_range is None else self.pixel_range.describe(),
        }


def _only_warn(warn: Callable[[str], None]) -> Callable[[str], None]:
    """For test images, which stay: what is said of them differs."""

    def say(message: str) -> None:
        warn(message.partition(";")[0] + ": their accuracy is too good.")

    return say


def _used_labels(
    labelled: Embedded, warn: Callable[[str], None]
) -> tuple[Labels, NDArray[np.int64]]:
    """The classes that have a readable image, and the code of every image among them."""
    labels, codes = labels_of(labelled.pool, "labelled"), labelled.codes
    counts = np.bincount(codes, minlength=len(labels.names))
    gone = [name for name, count in zip(labels.names, counts, strict=True) if count == 0]
    if gone:
        warn(f"Classes without a readable image are left out: {_few(gone)}.")
    kept = np.flatnonzero(counts)
    if len(kept) < 2:
        found = ", ".join(labels.names[code] for code in kept)
        raise TrainingError(
            f"At least 2 classes are needed to train; got {len(kept)} ({found}). "
            "Put the images of each class in a folder of its own."
        )
    single = [labels.names[code] for code in kept if counts[code] == 1]
    if single:
        warn(f"Classes with one image only, whose accuracy cannot be estimated: {_few(single)}.")
    codes = np.searchsorted(kept, codes)
    names = tuple(labels.names[code] for code in kept)
    return Labels(codes.astype(np.int32), names), codes


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _groups(labelled: Embedded, word: str | None) -> NDArray[np.int64] | None:
    if word is None:
        return None
    return group_codes(group_names(labelled.pool, word))[labelled.rows]


def _codes_in(test: Embedded, labels: Labels) -> NDArray[np.int64]:
    own = labels_of(test.pool, "test")
    unknown = [name for name in own.names if name not in labels.names]
    if unknown:
        raise TrainingError(
            f"The test images have classes that no labelled image has: {_few(unknown)}. "
            "Label images of these classes, or leave them out."
        )
    places = np.array([labels.names.index(name) for name in own.names])
    return np.asarray(places[own.codes[test.rows]], np.int64)


def _record(
    task: _Task,
    trained: TrainedHead,
    typicality: Typicality,
    takes: str,
    plan: TrainingPlan,
) -> HeadRecord:
    names = task.labels.names
    pool = None if task.pool is None else task.pool.features
    guesses = None if pool is None else trained.head.predict(pool)
    test = None if task.test is None else trained.head.predict(task.test.features)
    estimate = trained.accuracy
    uses_pool = trained.name != BASE
    return HeadRecord(
        algorithm=trained.name,
        asked=plan.algorithm,
        reason=trained.reason,
        accuracy=HeadAccuracy(
            None if estimate is None else estimate.value,
            None if estimate is None else (estimate.low, estimate.high),
            None if test is None else float((test == task.test_codes).mean()),
        ),
        gains=tuple(map(_gain, trained.comparisons)),
        class_names=names,
        class_counts=tuple(np.bincount(task.codes, minlength=len(names)).tolist()),
        n_labelled=len(task.codes),
        n_pool=task.n_pool,
        n_unlabelled=len(pool) if pool is not None and uses_pool else 0,
        n_test=0 if task.test is None else len(task.test.features),
        n_unreadable=task.labelled.n_unreadable + (task.pool.n_unreadable if task.pool else 0),
        n_groups=None if task.groups is None else len(np.unique(task.groups)),
        backbone=None if task.backbone is None else task.backbone.describe(),
        pixel_range=None if task.pixel_range is None else task.pixel_range.describe(),
        takes=takes,
        temperature=float(trained.head.temperature),
        threshold=typicality.threshold,
        confusion=confusion(trained.logits, task.codes, len(names)),
        pool_shares=None if guesses is None else _shares(guesses, names),
        n_changed=_n_changed(trained, pool),
        seed=plan.seed,
        elapsed_s=0.0,
    )


def _gain(comparison: Comparison) -> AlgorithmGain:
    gain = comparison.gain
    return AlgorithmGain(
        comparison.name,
        100 * gain.value,
        (100 * gain.low, 100 * gain.high),
        comparison.is_clear,
    )


def confusion(
    logits: Array, codes: NDArray[np.integer], n_classes: int
) -> tuple[tuple[float, ...], ...] | None:
    """Images of each class (rows) by predicted class, mean over repeats; those never held out
    are not counted.

    Args:
        logits: Out of fold, shape (repeats, n, k); NaN for rows that were never held out.
        codes: The class of each, shape (n,).
        n_classes: How many classes there are.
    """
    if n_classes > MOST_SHOWN:
        return None
    counts = np.zeros((n_classes, n_classes))
    for repeat in logits:
        seen = np.isfinite(repeat).all(axis=1)
        np.add.at(counts, (codes[seen], repeat[seen].argmax(axis=1)), 1 / len(logits))
    return tuple(tuple(row) for row in counts.round(6).tolist())


def _shares(guesses: NDArray[np.intp], names: tuple[str, ...]) -> dict[str, float]:
    counts = np.bincount(guesses, minlength=len(names)) / max(1, len(guesses))
    return dict(zip(names, counts.tolist(), strict=True))


def _n_changed(trained: TrainedHead, pool: Array | None) -> int | None:
    if pool is None or BASE not in trained.others:
        return None
    base = trained.others[BASE].predict(pool)
    return int((base != trained.head.predict(pool)).sum())


def _check_model(
    model: bytes, takes: str, task: _Task, trained: TrainedHead, typicality: Typicality
) -> None:
    """See that the file answers as the head does, on a few labelled images."""
    from mixmood.features.backbones.onnx.network import open_session

    features = task.labelled.features[:CHECKED]
    given: dict[str, Any] = {FEATURES: np.asarray(features, np.float32)}
    if takes != FEATURES and task.backbone is not None:
        given = {takes: _pictures(task.labelled, task.backbone.resolution, len(features))}
    try:
        found, typical = open_session(model).run([PROBABILITIES, TYPICALITY], given)
    except Exception as error:
        # ONNX Runtime has no public base class for what it raises.
        raise OutputError(f"The model cannot be run by ONNX Runtime: {error}.") from error
    away = float(np.abs(found - trained.head.predict_proba(features)).max())
    apart = float(np.abs(typical[:, 0] - typicality(features)).max())
    if not max(away, apart) <= TOLERANCE:
        raise OutputError(
            f"The model in its file answers otherwise than in memory: {away:.2g} apart in "
            f"probability, {apart:.2g} in typicality. Report this, with the backbone's name."
        )


def _pictures(labelled: Embedded, side: int, count: int) -> NDArray[np.uint8]:
    from mixmood.ssl.input.pictures import pictures_at

    if isinstance(labelled.pool, FeatureSource):
        raise InputError(f"{labelled.pool.name} holds features; images were wanted.")
    read = pictures_at(labelled.pool, labelled.rows[:count].tolist(), (side, side))
    return np.stack([np.asarray(picture) for picture, _ in read])
