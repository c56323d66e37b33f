"""`--backbone auto`: the backbone with the best cross-validated accuracy of a supervised head."""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Rows
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError, OptionError
from mixmood.core.listener import Listener
from mixmood.core.records.filtering import Filtering
from mixmood.core.records.ranking import Ranking
from mixmood.core.seeds import rng_for
from mixmood.data.images.labels import group_codes, group_names, needed_labels
from mixmood.data.images.pool import FeatureSource, ImageSource, Pool
from mixmood.evidence.choice import FeatureChoice, choose_features
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.registry import is_auto, load_backbone, names_to_compare
from mixmood.features.plan import ExtractionPlan
from mixmood.features.sample import Extractor
from mixmood.ssl.plan import TrainingRunPlan
from mixmood.ssl.record import HeadRecord

R = TypeVar("R", Ranking, Filtering, HeadRecord)
MOST_LABELLED = 500
"""The largest number of labelled images used; of more, a random sample is used."""
FEW, N_REPEATS = 100, 3
"""With at most FEW images, cross-validation is done N_REPEATS times; with more, once."""
KEY = "choice"
"""The key of the figures in the record of a backbone."""


def backbone_of(plan: ExtractionPlan | TrainingRunPlan, listener: Listener) -> Backbone:
    """The backbone that the options of a command name."""
    return load_backbone(plan.backbone, plan.resolution, plan.device, listener=listener)


@dataclass(frozen=True)
class BackboneChoice:
    """The chosen backbone, the figures of all, and one sentence about them."""

    chosen: str
    figures: dict[str, Any]
    sentence: str
    optimism: float | None
    """By how much its accuracy, a share, is too high because of the choice; None if unknown."""


def with_choice(record: R, choice: BackboneChoice | None, notes: str | None = None) -> R:
    """The record of a command with the figures of a choice, if one was made.

    Args:
        record: A record with the field `backbone`.
        choice: The choice; None if a backbone was named.
        notes: The field of the record to which the sentence is added, if any.
    """
    if choice is None:
        return record
    changes: dict[str, Any] = {"backbone": {**(record.backbone or {}), KEY: choice.figures}}
    if notes is not None:
        changes[notes] = (*getattr(record, str(notes)), choice.sentence)
    return replace(record, **changes)


def choose_backbone(
    labelled: Pool,
    plan: ExtractionPlan | TrainingRunPlan,
    cache: FeatureCache | None,
    listener: Listener,
) -> BackboneChoice | None:
    """The choice among the backbones of `auto`; None if a backbone was named, or for features.

    InputError if the images have no classes, or no class has two images.
    """
    if not is_auto(plan.backbone) or isinstance(labelled, FeatureSource):
        return None
    names, left_out = names_to_compare(plan.backbone)
    labels = needed_labels(labelled)
    rows, features = _features(labelled, names, plan, cache, listener)
    present, codes = np.unique(labels.codes[rows], return_inverse=True)
    try:
        found = choose_features(
            features,
            codes,
            len(present),
            rng_for(plan.seed, "backbone"),
            groups=_groups(labelled, getattr(plan, "groups", None), rows),
            n_repeats=N_REPEATS if len(rows) <= FEW else 1,
        )
    except InputError as error:
        raise InputError(f"--backbone auto compares by cross-validation. {error}") from error
    return BackboneChoice(
        found.chosen,
        _figures(found, len(rows), left_out),
        _sentence(found, len(rows), left_out),
        found.optimism,
    )


def _features(
    labelled: ImageSource,
    names: tuple[str, ...],
    plan: ExtractionPlan | TrainingRunPlan,
    cache: FeatureCache | None,
    listener: Listener,
) -> tuple[Rows, dict[str, Array]]:
    """The indices of the readable images used, and their features by each backbone."""
    asked: Rows = np.arange(len(labelled))
    if len(asked) > MOST_LABELLED:
        rng = rng_for(plan.seed, "backbone", "sample")
        asked = np.sort(rng.choice(len(asked), MOST_LABELLED, replace=False))
    jobs = plan.threads if isinstance(plan, TrainingRunPlan) else plan.jobs
    features: dict[str, Array] = {}
    for name in names:
        network = backbone_of(replace(plan, backbone=name), listener)
        if network.is_batch_dependent:
            raise OptionError(
                f"--backbone auto cannot compare {name}: an image's features depend on its batch. "
                "Leave it out."
            )
        found = Extractor(network, jobs, cache, listener).read(labelled, asked).not_empty()
        # Whether an image can be read does not depend on the backbone.
        asked, features[name] = found.rows, found.features
    return asked, features


def _groups(labelled: Pool, groups: str | None, rows: Rows) -> NDArray[np.int64] | None:
    return None if groups is None else group_codes(group_names(labelled, groups))[rows]


def _figures(found: FeatureChoice, n_images: int, left_out: dict[str, str]) -> dict[str, Any]:
    return {
        "by": "cross-validated accuracy of the supervised head",
        "n_images": n_images,
        "candidates": [
            {"name": name, "accuracy": one.value, "interval": [one.low, one.high]}
            for name, one in found.accuracies.items()
        ],
        "accuracy_after_choice": found.after_choice and found.after_choice.value,
        "left_out": left_out,
    }


def _sentence(found: FeatureChoice, n_images: int, left_out: dict[str, str]) -> str:
    figures = ", ".join(
        f"{name} {one.value:.3f} ({one.low:.3f} to {one.high:.3f})"
        for name, one in found.accuracies.items()
    )
    alone = ""
    if len(found.accuracies) == 1:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        without = f" ({reasons})" if reasons else ""
        alone = f" No other backbone was compared{without}: name others as auto:NAME,NAME."
    return (
        f"Backbone {found.chosen}, by the cross-validated accuracy of a supervised head on "
        f"{n_images} labelled images: {figures}.{alone}"
    )
