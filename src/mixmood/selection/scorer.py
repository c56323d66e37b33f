"""How a filter is fitted, scores images, and is saved as plain arrays."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from mixmood.core.arrays import Array, Codes, Rows, packed_arrays, read_arrays
from mixmood.core.errors import InputError, errors_as
from mixmood.core.files import write_atomic
from mixmood.core.options import DEFAULT_SCORE
from mixmood.core.records.ranking import ShareRecord
from mixmood.core.seeds import rng_for
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import ImageSource, Labels, Pool
from mixmood.evidence.share import share_of_fit
from mixmood.features.backbones.backbone import network_digest
from mixmood.features.backbones.onnx_file import is_onnx_file
from mixmood.features.backbones.view import LAST
from mixmood.features.extract import Extractor
from mixmood.features.reading import LABELLED, POOL, random_order
from mixmood.heads.problem import LinearHead, SupervisedHead, head_problem
from mixmood.numerics.neighbours import copy_cosine, cosine_neighbours, unit_rows
from mixmood.scores.fitting import FitArrays, checked_rows, checked_sets
from mixmood.scores.registry import FittedScore, fit_score, restored_score, score_family
from mixmood.selection.duplicates import feature_codes
from mixmood.selection.plan import FIT_SAMPLE, FilterPlan

FORMAT = 1
SCORED = [("scores", "f8"), ("nearest", "i8"), ("is_copy", "?"), ("codes", "u8", 2)]
"""The results of a filter for an image: its score, larger if it is more like the labelled images;
the index of the nearest labelled image by cosine; whether it is a copy of that image; and its hash
codes, by which duplicates within the pool are found."""
ScoredRows = np.recarray[Any, np.dtype[np.record]]


@dataclass(frozen=True)
class FittedFilter:
    """A fitted filter, made of plain arrays."""

    score: FittedScore
    useful: ShareRecord
    threshold: float  # of `--keep auto`: infinite if nothing is useful, minus infinity if all is
    labelled: Array  # unit rows of the labelled images, shape (n, d), to find the nearest one
    centre: Array  # the mean of the pool's sample, shape (d,), which the hash codes are relative to

    def scored(self, features: Array) -> ScoredRows:
        """Score some rows; a row's result does not depend on the other rows of the batch."""
        rows = checked_rows(features, "The images", self.score.width)
        near = cosine_neighbours(rows, self.labelled, 1)
        found = np.recarray(len(rows), SCORED)
        found.scores, found.nearest = self.score.score(rows), near.indices[:, 0]
        found.is_copy = near.similarities[:, 0] >= self._copy_cosine
        found.codes = feature_codes(rows, self.centre)
        return found

    @cached_property
    def _copy_cosine(self) -> float:
        return copy_cosine(self.labelled)

    @property
    def facts(self) -> dict[str, Any]:
        """What a file keeps beside the arrays, for JSON."""
        names = {"family": self.score.family, "width": self.score.width}
        return {**names, "useful": asdict(self.useful), "threshold": self.threshold}

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a file keeps as arrays; nothing in them needs pickle."""
        fit = self.score.fit
        score = {**fit.arrays, "labelled": fit.labelled, "pool": fit.pool}
        own = {"labelled_rows": self.labelled.astype(np.float32), "pool_mean": self.centre}
        return own | {f"score_{name}": values for name, values in score.items()}


def restored_filter(facts: dict[str, Any], arrays: FitArrays) -> FittedFilter:
    """The filter from its facts and arrays; refuse others."""
    fit = {name[6:]: arrays[name] for name in arrays if name.startswith("score_")}
    score = restored_score(str(facts["family"]), int(facts["width"]), fit)
    useful = TypeAdapter(ShareRecord).validate_python(facts["useful"])
    rows = checked_rows(arrays["labelled_rows"], "The saved labelled rows", score.width)
    centre = checked_rows(arrays["pool_mean"][None], "The saved mean", score.width)[0]
    found = FittedFilter(score, useful, float(facts["threshold"]), rows, centre)
    # Arrays of shapes that do not fit together would be an error in the middle of a scan.
    is_whole = np.isfinite(found.scored(np.zeros((1, score.width))).scores).all()
    if not is_whole or not min(score.fit.labelled.size, score.fit.pool.size):
        raise ValueError("its arrays do not fit together")
    return found


def fit_filter(
    labelled: Array,
    pool: Array,
    rng: np.random.Generator,
    *,
    labels: Codes | None = None,
    family: str = DEFAULT_SCORE,
    known: ShareRecord | None = None,
) -> FittedFilter:
    """A filter from features of the labelled images and of a random sample of the pool.

    Of more than 1000 rows of the pool a random part is used. `labels` are the classes of the
    labelled images, and `known` is the useful share, if it was estimated before.
    """
    own, rows = checked_sets(labelled, pool, labels)
    # The useful share needs a cross-fitted score; for other scores the default one estimates it.
    is_cross_fitted = score_family(family).is_cross_fitted
    share_family = family if is_cross_fitted else DEFAULT_SCORE
    share, fit = share_of_fit(own, rows, rng, labels=labels, family=share_family)
    useful = share if known is None else known
    score = FittedScore(family, fit, own.shape[1])
    if not is_cross_fitted:
        score = fit_score(own, rows, labels, family)
    threshold = balanced_threshold(score.fit.pool, useful.share)
    unit = unit_rows(own).astype(np.float32).astype(np.float64)
    return FittedFilter(score, useful, threshold, unit, rows.mean(axis=0))


def balanced_threshold(pool_scores: Array, useful_share: float) -> float:
    """The score that the useful share of the pool reaches.

    At this threshold as many useful images are dropped as foreign ones are kept. Let u be the
    share of useful images and r the part of them above the threshold. Then u (1 - r) of the pool
    is useful and dropped. If u of the pool is above the threshold, u - u r of it is foreign and
    kept: the same number. The threshold is infinite for a share of 0, minus infinity for 1.

    >>> balanced_threshold(np.arange(10.0), 0.3)
    6.5
    """
    ascending = np.sort(pool_scores)
    n_dropped = len(ascending) - round(useful_share * len(ascending))
    if n_dropped == 0:
        return -np.inf
    if n_dropped == len(ascending):
        return np.inf
    return float((ascending[n_dropped - 1] + ascending[n_dropped]) / 2)


@dataclass(frozen=True)
class Scorer:
    """A fitted filter and a classifier, the names of classes and labelled images, a backbone."""

    filter: FittedFilter
    head: LinearHead | None  # None without labels
    class_names: tuple[str, ...]  # those of the head
    labelled_names: tuple[str, ...]  # the nearest labelled image is shown by its name
    backbone: str  # the digest of the network; "" for features
    backbone_name: str  # from which `--load` loads it; "" for features
    resolution: int  # 0 for features
    depth: str = LAST
    pixel_range: PixelRange | None = None  # for images of more than eight bits


FACTS = ("class_names", "labelled_names", "backbone", "backbone_name", "resolution", "depth")
"""The fields of a scorer that are saved as they are."""


def save_scorer(path: Path, scorer: Scorer) -> None:
    """Write a scorer as plain arrays; the labelled images are not needed to use it."""
    head, pixel_range = scorer.head, scorer.pixel_range
    facts = {name: getattr(scorer, name) for name in FACTS} | {
        "format": FORMAT,
        "pixel_range": None if pixel_range is None else [pixel_range.low, pixel_range.high],
        "temperature": None if head is None else head.temperature,
        "filter": scorer.filter.facts,
    }
    arrays = {**scorer.filter.arrays, "facts": np.array(json.dumps(facts))}
    if head is not None:
        arrays |= {"head_weights": head.weights, "head_bias": head.bias}
    write_atomic(path, packed_arrays(arrays))


def load_scorer(path: Path) -> Scorer:
    """Read what `save_scorer` wrote; refuse anything else."""
    with errors_as(InputError, f"{path} is not a saved filter", "Give a file written by --save."):
        arrays = read_arrays(path)
        facts = json.loads(str(arrays.pop("facts", "{}")))
        if facts.get("format") != FORMAT:
            raise ValueError(f"format {FORMAT} was wanted; it has {facts.get('format')}")
        weights, bias = arrays.pop("head_weights", None), arrays.pop("head_bias", None)
        fitted, limits = restored_filter(facts["filter"], arrays), facts["pixel_range"]
        kinds, head = get_type_hints(Scorer), None
        plain: dict[str, Any] = {
            name: TypeAdapter(kinds[name]).validate_python(facts[name]) for name in FACTS
        }
        if weights is not None and bias is not None:
            shape = (fitted.score.width, len(plain["class_names"]))
            if weights.shape != shape or bias.shape != shape[1:]:
                raise ValueError("its classifier does not fit its features")
            head = LinearHead(weights, bias, float(facts["temperature"]))
        pixel_range = None if limits is None else PixelRange(*map(float, limits))
        return Scorer(fitted, head, **plain, pixel_range=pixel_range)


MOST_IN_FILTER = 5000  # labelled images that a filter is fitted on; of more, a random sample
LEAST_LABELLED = 8


def fit_scorer(
    labelled: Pool,
    pool: Pool,
    plan: FilterPlan,
    extractor: Extractor,
    least_labelled: int = LEAST_LABELLED,
    share: ShareRecord | None = None,
) -> Scorer:
    """A scorer from the labelled images and a random sample of the pool; its share may be known."""
    own = extractor.read(labelled, sampled(labelled, MOST_IN_FILTER, plan.seed, LABELLED))
    if len(own) < least_labelled:
        raise InputError(
            f"At least {least_labelled} labelled images that can be read are needed; "
            f"got {len(own)}. Label a few more."
        )
    others = extractor.read(pool, sampled(pool, FIT_SAMPLE, plan.seed, POOL))
    if len(others) == 0:
        raise InputError(
            f"None of the {min(len(pool), FIT_SAMPLE)} images tried of {pool.name} could be read. "
            "Check the pool."
        )
    # Copies have the highest scores and are never kept: the share is that of the other images.
    is_new = ~others.is_copy_of(own)
    others = others.where(is_new) if is_new.any() else others
    labels = None if labelled.labels is None else labelled.labels.codes[own.rows]
    rng = rng_for(plan.seed, "useful share")
    fitted = fit_filter(
        own.features, others.features, rng, labels=labels, family=plan.score, known=share
    )
    head, class_names = fit_classifier(own.features, labels, labelled.labels, plan.seed)
    backbone, name = extractor.backbone, plan.backbone
    if is_onnx_file(name):
        name = str(Path(name).resolve())  # so that --load finds it from anywhere
    return Scorer(
        filter=fitted,
        head=head,
        class_names=class_names,
        labelled_names=tuple(labelled.locate(int(row)) for row in own.rows),
        backbone=network_digest(backbone) if backbone else "",
        backbone_name=name if backbone else "",
        resolution=backbone.resolution if backbone else 0,
        depth=backbone.view.depth if backbone else LAST,
        pixel_range=labelled.pixel_range if isinstance(labelled, ImageSource) else None,
    )


def sampled(pool: Pool, most: int, seed: int, side: str) -> Rows:
    """Indices of at most `most` random images of a pool, in the order of the pool."""
    return np.sort(random_order(len(pool), most, seed, side))


def fit_classifier(
    features: Array, codes: NDArray[np.int32] | None, labels: Labels | None, seed: int
) -> tuple[LinearHead | None, tuple[str, ...]]:
    """The supervised head and its class names; None and () with fewer than two classes."""
    if codes is None or labels is None or len(np.unique(codes)) < 2:
        return None, ()
    present, own = np.unique(codes, return_inverse=True)
    problem = head_problem(features, own, len(present))
    head = SupervisedHead().fit(problem, rng_for(seed, "filter", "classes"))[0]
    return head, tuple(labels.names[code] for code in present)
