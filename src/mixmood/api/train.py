"""`mixmood.train`: a classifier from a few labelled images and pools of unlabelled ones."""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mixmood.api.mlflow_runs import log_head, mlflow_log
from mixmood.api.predict import PredictReport, predict
from mixmood.api.view_choice import SetsInView, open_labelled, reading, sets_in_view
from mixmood.core.arrays import Rows
from mixmood.core.errors import InputError, OptionError
from mixmood.core.files import write_atomic
from mixmood.core.listener import Listener, Recorder, Silent
from mixmood.core.options import DEFAULT_PROBE, with_options
from mixmood.core.records.ranking import Tile
from mixmood.core.text import listed, unknown_name
from mixmood.data.images.labels import needed_labels
from mixmood.data.images.pool import Pool, scaled, thumbnails
from mixmood.data.open import are_image_files, open_candidates
from mixmood.evidence.view import BASE
from mixmood.features.extract import Extractor
from mixmood.features.reading import Reading
from mixmood.features.sample import Sample
from mixmood.heads.problem import check_amount, work_of
from mixmood.heads.registry import HEADS
from mixmood.ranking.judge import PoolGains, gains_of, read_first, read_labelled
from mixmood.ranking.rank import why_not_comparable
from mixmood.report.training import Mistakes, TrainingPictures, training_html, training_page
from mixmood.ssl import head as heads
from mixmood.ssl import plan as plans
from mixmood.ssl import run_folder as run_files
from mixmood.ssl.head import HeadRun, HeadTask, PoolDecision, PoolPart
from mixmood.ssl.image_training import MEMORY_LIMIT_BYTES, train_on_images
from mixmood.ssl.models.registry import TUNED
from mixmood.ssl.plan import AUTO, PredictionPlan, TrainingRunPlan
from mixmood.ssl.record import EpochRecord, HeadRecord, PoolUse, TrainingRecord


@dataclass(frozen=True, repr=False)
class TrainedModel:
    """The result of a training: its record and the model."""

    record: HeadRecord | TrainingRecord
    model: bytes | None  # the ONNX file; None for a network that was trained without `out`

    def predict(
        self,
        images: Any,
        *,
        jobs: int | None = PredictionPlan.jobs,
        device: str = PredictionPlan.device,
        listener: Listener | None = None,
    ) -> PredictReport:
        """The class of every readable image of a pool; see `mixmood.predict`."""
        if self.model is None:
            raise OptionError(
                "This network was trained without a folder for its file. Train with out=FOLDER."
            )
        return predict(self.model, images, jobs=jobs, device=device, listener=listener)

    def __repr__(self) -> str:
        """The model, its algorithm and its accuracy."""
        return f"<TrainedModel: {self.record.summary_line()}>"

    def _repr_html_(self) -> str:
        """A small table, for notebooks."""
        return training_html(self.record)


@with_options(TrainingRunPlan)
def train(
    labelled: Any,
    unlabelled: Any = None,
    *,
    plan: TrainingRunPlan,
    memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
    listener: Listener | None = None,
    on_epoch: Callable[[EpochRecord], None] = lambda epoch: None,
) -> TrainedModel:
    """A model trained on a few labelled images and pools of unlabelled ones, and its record.

    Of several pools a head uses those that `rank` advises, and says why.

    The sets are given in the same ways as pools for `rank`; the classes come from class folders,
    tables or annotations. With `out`, the folder receives `record.json` and `model.onnx`; for a
    head also `report.html`; for a network also `model.pt`, `metrics.jsonl`, `curves.png` and a
    checkpoint, from which `resume` continues.

    Args:
        labelled: Images with classes.
        unlabelled: The pools: a dictionary from names to pools, a list of paths, or one pool; not
            needed for `supervised`. A network takes one.
        memory_limit_bytes: For networks: larger sets are read from disk during training.
        on_epoch: Called with each finished epoch of a network.
    """
    listener = listener or Silent()
    if plan.is_head:
        return _trained_head(labelled, unlabelled, plan, listener)
    is_chosen = plan.model == TUNED and plan.image_size is None
    record = train_on_images(
        labelled,
        only_pool(unlabelled),
        plan=plan,
        side=partial(_tuned_side, labelled, plan, listener) if is_chosen else None,
        memory_limit_bytes=memory_limit_bytes,
        listener=listener,
        on_epoch=on_epoch,
    )
    model = None if plan.folder is None else (plan.folder / run_files.MODEL).read_bytes()
    return TrainedModel(record, model)


def _tuned_side(labelled: Any, plan: TrainingRunPlan, listener: Listener) -> int:
    """Pixels a side at which the backbone is fine-tuned: what its last layer sees best, bounded."""
    asked = TrainingRunPlan(depth="last", seed=plan.seed, cache=plan.cache, threads=plan.threads)
    with reading(asked, listener) as reader:
        view = sets_in_view(open_labelled(labelled, asked, reader), {}, asked, reader).view
    best = plans.TUNING["image_size"] if view is None else view.backbone.resolution
    side = min(best, plans.LARGEST_TUNED)
    bound = "" if side == best else f", the labelled images would choose {best}"
    listener.note(f"Fine-tuned at {side} px{bound} (--image-size).")
    return side


def _trained_head(
    labelled: Any, unlabelled: Any, plan: TrainingRunPlan, listener: Listener
) -> TrainedModel:
    algorithm, known = plan.algorithm, (AUTO, *HEADS)
    if algorithm in plans.NETWORK_ONLY:
        raise OptionError(
            f"{algorithm} trains networks. Give --model wrn-thin, or one of "
            f"{', '.join(known)} for a head."
        )
    if algorithm not in known:
        raise unknown_name("algorithm", str(algorithm), (*known, *plans.NETWORK_ONLY))
    if not len(as_pools(unlabelled)) and algorithm in HEADS and HEADS[algorithm].uses_pool:
        raise OptionError(
            f"{algorithm} needs unlabelled images; got none. "
            "Give a pool, or train with 'supervised'."
        )
    log = mlflow_log(plan.mlflow)
    run_files.prepare_folder(plan.folder, plan.resume, is_head=True)

    start, recorder = time.perf_counter(), Recorder(listener)
    with reading(plan, recorder) as reader:
        task = head_task(labelled, unlabelled, plan, reader)
    is_large = work_of(task.labelled.features, len(task.names)) > LARGE_FIT
    with threadpool_limits(None if is_large else 1, user_api="blas"):
        run = heads.trained_head(task, recorder)
    run = replace(run, record=replace(run.record, elapsed_s=time.perf_counter() - start))
    if plan.folder is not None:
        write_atomic(plan.folder / run_files.MODEL, run.model)
        names = run.record.class_names
        surest = _surest(run, names) if len(names) <= MOST_CLASSES else {}
        pictures = TrainingPictures(task.labelled.pool.name, _mistakes(run, names), surest)
        write_atomic(plan.folder / run_files.REPORT, training_page(run.record, pictures))
        # Last, so that a folder with a record is complete.
        write_atomic(plan.folder / run_files.RECORD, run.record.to_json())
    if log is not None:
        log_head(log, run.record, plan.folder)
    return TrainedModel(run.record, run.model)


LARGE_FIT = 10_000_000
"""Work from which on threads of BLAS save time, on two cores a sixth with 2,000 images of ten
classes. With 600, a training takes as long, and 1.5 times the processor time."""
NO_POOL = "No pool was given: the supervised head is used."
ALL_LABELLED = "All images of the pool have a label: the supervised head is used."
UNKNOWN_SHARE = 0.5


def as_pools(unlabelled: Any) -> Mapping[str, Any] | Sequence[Any]:
    """What the user gave as pools: a dictionary, a list of paths of pools, or one pool.

    >>> as_pools(None), as_pools("crawl/"), as_pools(["a/", "b.zip"])
    ([], ['crawl/'], ['a/', 'b.zip'])
    >>> as_pools(["1.png", "2.png"])
    [['1.png', '2.png']]
    """
    if unlabelled is None:
        return []
    is_list = isinstance(unlabelled, list | tuple) and len(unlabelled) > 0
    are_paths = is_list and all(isinstance(one, str | os.PathLike) for one in unlabelled)
    is_several = isinstance(unlabelled, Mapping) or (are_paths and not are_image_files(unlabelled))
    return unlabelled if is_several else [unlabelled]


def head_task(labelled: Any, unlabelled: Any, plan: TrainingRunPlan, reader: Extractor) -> HeadTask:
    """What a head is trained on: all sets, opened and read, and the pools that are used."""
    listener = reader.listener

    def opened(what: Any, role: str) -> Pool:
        pool = open_labelled(what, plan, reader, role)
        for note in getattr(pool, "notes", ()):
            listener.warn(f"{pool.name}: {note}")
        return pool

    def read(pool: Pool) -> Sample:
        found = sets.extractor.read(pool)
        for text in (*found.warnings, *found.repetition_warning):
            listener.warn(f"{pool.name}: {text}")
        return found.not_empty()

    base = opened(labelled, "labelled set")
    # Checked before images are read: embedding many of them takes minutes.
    check_amount(len(base), len(needed_labels(base, "labelled set").names))
    # Opened before images are read: a path that does not exist is an error within a second.
    candidates = open_candidates(as_pools(unlabelled), base, plan.seed, reader.cache)
    sets = sets_in_view(base, candidates.pools, plan, reader)
    sets.given.tell(listener)
    own, test = read(sets.labelled), None
    if plan.test is not None:
        test = read(scaled(opened(plan.test, "test set"), sets.pixel_range))
    task = heads.labelled_task(own, test, sets.view, plan, listener)
    for name, reason in sets.emptied.items():
        listener.note(f"{name}: {reason}")
    readings = _readings(sets, dict(candidates.set_aside), task, listener)
    if not readings:
        why, algorithm = ALL_LABELLED if sets.emptied else NO_POOL, plan.algorithm
        decision = PoolDecision(BASE if algorithm == AUTO else algorithm, why)
    elif plan.algorithm == AUTO:
        labelled_first = read_labelled(own.pool, plan.seed, sets.extractor)
        gains = gains_of(labelled_first, readings, plan.seed, plan.groups, listener)
        decision = _advised(gains)
    else:
        decision = _asked(plan.algorithm, readings)
    return heads.with_pools(task, decision, listener)


def _readings(
    sets: SetsInView, aside: dict[str, str], task: HeadTask, listener: Listener
) -> dict[str, Reading]:
    """The first images of each pool; those without any are set aside."""
    readings, banned = {}, frozenset(() if task.test is None else task.test.contents)
    for name, one in sets.unlabelled.items():
        if why := why_not_comparable(task.labelled.pool, one):
            aside[name] = why
            continue
        reading = read_first(one, task.labelled, task.plan.seed, sets.extractor, banned)
        n_tried = reading.sample.n_tried
        if len(reading.sample):
            readings[name] = reading
        elif reading.sample.n_left_out:
            aside[name] = f"all of its {n_tried} readable images are labelled or test images."
        else:
            aside[name] = f"it has no readable image among {n_tried}."
    if aside and not readings and not sets.emptied:
        reasons = " ".join(f"'{name}': {reason}" for name, reason in aside.items())
        raise InputError(f"No pool can be used. {reasons}")
    for name, reason in aside.items():
        listener.warn(f"{name} is set aside: {reason}")
    return readings


def _asked(algorithm: str, readings: Mapping[str, Reading]) -> PoolDecision:
    """The decision by the name of the algorithm: it uses all pools or none."""
    parts = []
    for name, one in readings.items():
        use = PoolUse(name, len(one.pool), 0, None, "the algorithm was named")
        parts.append(PoolPart(use, one, float(len(one.pool)) if algorithm != BASE else 0.0))
    return PoolDecision(algorithm, "", tuple(parts))


def _advised(gains: PoolGains) -> PoolDecision:
    """The decision by the advice: what `rank` would use is used."""
    used = gains.answer.union.pools if gains.answer.union else ()

    def part(name: str) -> PoolPart:
        reading, share = gains.pools[name], gains.parts[name].share
        useful = (UNKNOWN_SHARE if share is None else share.share) * len(reading.pool)
        advice, probe = gains.advice[name], gains.probes[name]
        gain = () if probe is None else (probe.gain, probe.interval, probe.p_helps)
        use = PoolUse(name, len(reading.pool), 0, advice.word, advice.reason, *gain)
        return PoolPart(use, reading, max(useful, 1.0) if name in used else 0.0)

    reason = gains.answer.sentence if gains.why_no_gain is None else gains.why_no_gain
    if not used:
        reason = f"{reason} The supervised head is used."
    return PoolDecision(DEFAULT_PROBE if used else BASE, reason, tuple(map(part, gains.pools)))


def only_pool(unlabelled: Any) -> Any:
    """The one pool of a network; InputError if there are several."""
    pools = as_pools(unlabelled)
    if len(pools) > 1:
        names = listed([str(one) for one in pools])
        raise InputError(
            f"A network is trained with one pool; got {names}. Train a head (--model head) with "
            "all of them, or give the one that `mixmood rank` advises."
        )
    if not pools:
        return None
    return next(iter(pools.values())) if isinstance(pools, Mapping) else pools[0]


N_TILES = 8
MOST_MISTAKES = 12  # pairs of classes whose mistakes are shown, the most frequent first
MOST_CLASSES = 20  # with more classes, the surest images of each class are not shown


def _mistakes(run: HeadRun, names: tuple[str, ...]) -> tuple[Mistakes, ...]:
    """Images that the first cross-validation misclassified, by true and predicted class."""
    logits, codes = run.trained.logits[0], run.task.codes
    seen = np.isfinite(logits).all(axis=1)
    predicted = np.where(seen, np.nan_to_num(logits).argmax(axis=1), codes)
    wrong = np.flatnonzero(predicted != codes)
    pairs = Counter(zip(codes[wrong].tolist(), predicted[wrong].tolist(), strict=True))
    most = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[:MOST_MISTAKES]
    found = []
    for (true, other), count in most:
        rows = wrong[(codes[wrong] == true) & (predicted[wrong] == other)][:N_TILES]
        found.append(Mistakes(names[true], names[other], count, _tiles(run.task.labelled, rows)))
    return tuple(found)


def _surest(run: HeadRun, names: tuple[str, ...]) -> dict[str, tuple[Tile, ...]]:
    pools, features = run.task.pools, run.task.pool
    if features is None:
        return {}
    chances = run.trained.head.predict_proba(features)
    likeliest = chances.argmax(axis=1)
    starts, found = np.cumsum([0, *map(len, pools)]), {}
    for code in np.unique(likeliest).tolist():
        rows = np.flatnonzero(likeliest == code)
        best = rows[np.argsort(-chances[rows, code], kind="stable")[:N_TILES]]
        places = [(int(np.searchsorted(starts, row, "right")) - 1, row) for row in best]
        found[names[code]] = tuple(
            tile for k, row in places for tile in _tiles(pools[k], np.array([row - starts[k]]))
        )
    return found


def _tiles(sample: Sample, rows: Rows) -> tuple[Tile, ...]:
    pool, indices = sample.pool, sample.rows[rows].tolist()
    pictures = zip(indices, thumbnails(pool, indices), strict=True)
    return tuple(Tile(pool.locate(index), uri, None) for index, uri in pictures)
