"""`--backbone auto`: the backbone with the best cross-validated accuracy of a supervised head."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

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
from mixmood.features.plan import ExtractionPlan
from mixmood.ssl.record import HeadRecord

if TYPE_CHECKING:
    from mixmood.evidence.choice import FeatureChoice

R = TypeVar("R", Ranking, Filtering, HeadRecord)
MOST_LABELLED = 500
"""The largest number of labelled images used; of more, a random sample is used."""
FEW, N_REPEATS = 100, 3
"""With at most FEW images, cross-validation is done N_REPEATS times; with more, once."""
KEY = "choice"
"""The key of the figures in the record of a backbone."""


@dataclass(frozen=True)
class ChoiceOptions:
    """The options of a command that decide how labelled images are read and compared."""

    backbone: str
    resolution: int | None
    device: str
    seed: int
    jobs: int | None
    groups: str | None = None

    @classmethod
    def of(cls, plan: ExtractionPlan, groups: str | None = None) -> "ChoiceOptions":
        """The options of a plan."""
        return cls(plan.backbone, plan.resolution, plan.device, plan.seed, plan.jobs, groups)


@dataclass(frozen=True)
class BackboneChoice:
    """The chosen backbone, the figures of all, and one sentence about them."""

    chosen: str
    figures: dict[str, Any]
    sentence: str
    optimism: float | None
    """By how much its accuracy, a share, is too high because of the choice; None if unknown."""

    def in_record(self, backbone: Mapping[str, Any] | None) -> dict[str, Any]:
        """The description of a backbone with the figures of the choice."""
        return {**(backbone or {}), KEY: self.figures}


def with_choice(record: R, choice: BackboneChoice | None, notes: str | None = None) -> R:
    """The record of a command with the figures of a choice, if one was made.

    Args:
        record: A record with the field `backbone`.
        choice: The choice; None if a backbone was named.
        notes: The field of the record to which the sentence is added, if any.
    """
    if choice is None:
        return record
    changes: dict[str, Any] = {}
    if notes is not None:
        changes[notes] = (*getattr(record, str(notes)), choice.sentence)
    return replace(record, backbone=choice.in_record(record.backbone), **changes)


def choose_backbone(
    labelled: Pool, options: ChoiceOptions, cache: FeatureCache | None, listener: Listener
) -> BackboneChoice | None:
    """The choice among the backbones of `auto`; None if a backbone was named, or for features.

    InputError if the images have no classes, or no class has two images.
    """
    from mixmood.evidence.choice import choose_features
    from mixmood.features.backbones.registry import is_auto, names_to_compare

    if not is_auto(options.backbone) or isinstance(labelled, FeatureSource):
        return None
    names, left_out = names_to_compare(options.backbone)
    labels = needed_labels(labelled)
    rows, features = _features(labelled, names, options, cache, listener)
    present, codes = np.unique(labels.codes[rows], return_inverse=True)
    try:
        found = choose_features(
            features,
            codes,
            len(present),
            rng_for(options.seed, "backbone"),
            groups=_groups(labelled, options.groups, rows),
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
    options: ChoiceOptions,
    cache: FeatureCache | None,
    listener: Listener,
) -> tuple[Rows, dict[str, Array]]:
    """The indices of the readable images used, and their features by each backbone."""
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.features.sample import Extractor

    asked: Rows = np.arange(len(labelled))
    if len(asked) > MOST_LABELLED:
        rng = rng_for(options.seed, "backbone", "sample")
        asked = np.sort(rng.choice(len(asked), MOST_LABELLED, replace=False))
    features: dict[str, Array] = {}
    for name in names:
        network = load_backbone(name, options.resolution, options.device)
        if network.is_batch_dependent:
            raise OptionError(
                f"--backbone auto cannot compare {name}: an image's features depend on its batch. "
                "Leave it out."
            )
        found = Extractor(network, options.jobs, cache, listener).read(labelled, asked).not_empty()
        # Whether an image can be read does not depend on the backbone.
        asked, features[name] = found.rows, found.features
    return asked, features


def _groups(labelled: Pool, groups: str | None, rows: Rows) -> NDArray[np.int64] | None:
    return None if groups is None else group_codes(group_names(labelled, groups))[rows]


def _figures(found: "FeatureChoice", n_images: int, left_out: dict[str, str]) -> dict[str, Any]:
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


def _sentence(found: "FeatureChoice", n_images: int, left_out: dict[str, str]) -> str:
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
