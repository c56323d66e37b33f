"""Fitting a filter: the labelled images, a random sample of the pool, and a classifier."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows
from mixmood.core.errors import InputError
from mixmood.core.seeds import rng_for
from mixmood.data.images.pool import ImageSource, Labels, Pool
from mixmood.features.backbones.backbone import network_digest
from mixmood.features.backbones.onnx_file import is_onnx_file
from mixmood.features.sample import Extractor
from mixmood.heads.linear import LinearHead
from mixmood.heads.problem import head_problem
from mixmood.heads.supervised import SupervisedHead
from mixmood.selection.fitted import fit_filter
from mixmood.selection.plan import FIT_SAMPLE, FilterPlan
from mixmood.selection.scorer import Scorer

MOST_LABELLED = 5000
"""The largest number of labelled images that a filter is fitted on; of more, a random sample."""
LEAST_LABELLED = 8


def fit_scorer(labelled: Pool, pool: Pool, plan: FilterPlan, extractor: Extractor) -> Scorer:
    """A scorer from the labelled images and a random sample of the pool."""
    own = extractor.read(labelled, sampled(labelled, MOST_LABELLED, plan.seed))
    if len(own) < LEAST_LABELLED:
        raise InputError(
            f"A filter needs at least {LEAST_LABELLED} labelled images that can be read; "
            f"got {len(own)}. Label a few more."
        )
    others = extractor.read(pool, sampled(pool, FIT_SAMPLE, plan.seed))
    if len(others) == 0:
        raise InputError(
            f"None of the {min(len(pool), FIT_SAMPLE)} images tried of {pool.name} could be read. "
            "Check the pool."
        )
    labels = None if labelled.labels is None else labelled.labels.codes[own.rows]
    fitted = fit_filter(
        own.features,
        others.features,
        rng_for(plan.seed, "useful share"),
        labels=labels,
        family=plan.score,
    )
    head, class_names = _classifier(own.features, labels, labelled.labels, plan.seed)
    backbone = extractor.backbone
    return Scorer(
        filter=fitted,
        head=head,
        class_names=class_names,
        labelled_names=tuple(labelled.locate(int(row)) for row in own.rows),
        backbone=network_digest(backbone) if backbone else "",
        backbone_name=_absolute(plan.backbone) if backbone else "",
        resolution=backbone.resolution if backbone else 0,
        pixel_range=labelled.pixel_range if isinstance(labelled, ImageSource) else None,
    )


def _absolute(backbone: str) -> str:
    """The name of a backbone; an ONNX file gets its absolute path, so that it is found again."""
    return str(Path(backbone).resolve()) if is_onnx_file(backbone) else backbone


def sampled(pool: Pool, most: int, seed: int) -> Rows:
    """Indices of at most `most` random images of a pool, in the order of the pool."""
    if len(pool) <= most:
        return np.arange(len(pool))
    return np.sort(rng_for(seed, "filter", pool.name).choice(len(pool), most, replace=False))


def _classifier(
    features: Array, codes: NDArray[np.int32] | None, labels: Labels | None, seed: int
) -> tuple[LinearHead | None, tuple[str, ...]]:
    """The supervised head and its class names; None and () with fewer than two classes."""
    if codes is None or labels is None or len(np.unique(codes)) < 2:
        return None, ()
    present, own = np.unique(codes, return_inverse=True)
    problem = head_problem(features, own, len(present))
    head = SupervisedHead().fit(problem, rng_for(seed, "filter", "classes"))[0]
    return head, tuple(labels.names[code] for code in present)
