"""The data that a head is trained and tested on: features, classes and groups."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.cache.features import FeatureCache
from mixmood.core.errors import TrainingError
from mixmood.core.listener import Listener
from mixmood.data.images.labels import group_codes, group_names, minus_one_note, needed_labels
from mixmood.data.images.pool import FeatureSource, Labels, fit_pixel_range
from mixmood.data.open import open_pool
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.sample import Sample
from mixmood.heads.linear import check_amount
from mixmood.ssl.head.embedding import Embedder, warn_of_copies, without_copies
from mixmood.ssl.plan import TrainingPlan


class HeadTask:
    """The data that a head is trained and tested on, embedded and checked."""

    def __init__(
        self,
        labelled: Any,
        unlabelled: Any,
        test: Any,
        plan: TrainingPlan,
        store: FeatureCache | None,
        progress: Listener,
        warn: Callable[[str], None],
    ) -> None:
        """Open and embed all images; images that are left out are reported to `warn`."""
        base = open_pool(labelled, seed=plan.seed, cache=store, role="labelled pool")
        # Checked before images are read: embedding many of them takes minutes.
        check_amount(len(base), len(needed_labels(base, "labelled pool").names))
        has_features = isinstance(base, FeatureSource)
        self.backbone: Backbone | None = (
            None if has_features else load_backbone(plan.backbone, plan.resolution, plan.device)
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
            warn_of_copies(self.test, self.labelled, warn)

    def known(self) -> dict[str, Any]:
        """Facts about the model that `predict` needs."""
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


def _used_labels(labelled: Sample, warn: Callable[[str], None]) -> tuple[Labels, NDArray[np.int64]]:
    """The classes that have a readable image, and the code of every image among them."""
    labels, codes = needed_labels(labelled.pool, "labelled pool"), labelled.codes
    counts = np.bincount(codes, minlength=len(labels.names))
    without_image = [name for name, count in zip(labels.names, counts, strict=True) if count == 0]
    if without_image:
        warn(f"Classes without a readable image are left out: {_first_names(without_image)}.")
    kept = np.flatnonzero(counts)
    if len(kept) < 2:
        found = ", ".join(labels.names[code] for code in kept)
        raise TrainingError(
            f"At least 2 classes are needed to train; got {len(kept)} ({found}). "
            "Put the images of each class in a folder of its own."
        )
    if note := minus_one_note(labels.names):
        warn(note)
    single = [labels.names[code] for code in kept if counts[code] == 1]
    if single:
        warn(
            "Classes with only one image, whose accuracy cannot be estimated: "
            f"{_first_names(single)}."
        )
    codes = np.searchsorted(kept, codes)
    names = tuple(labels.names[code] for code in kept)
    return Labels(codes.astype(np.int32), names), codes


def _first_names(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _groups(labelled: Sample, word: str | None) -> NDArray[np.int64] | None:
    if word is None:
        return None
    return group_codes(group_names(labelled.pool, word))[labelled.rows]


def _codes_in(test: Sample, labels: Labels) -> NDArray[np.int64]:
    own, codes = needed_labels(test.pool, "test pool"), test.codes
    # A class without an image, as in the list of classes of a data set, need not be known.
    found = np.unique(codes)
    unknown = [own.names[code] for code in found if own.names[code] not in labels.names]
    if unknown:
        raise TrainingError(
            f"The test images have classes that no labelled image has: {_first_names(unknown)}. "
            "Label images of these classes, or leave them out."
        )
    places = np.array([labels.names.index(own.names[code]) for code in found])
    return np.asarray(places[np.searchsorted(found, codes)], np.int64)
