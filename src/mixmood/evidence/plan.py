"""Every option of a check of labels, declared in one place."""

from dataclasses import dataclass
from typing import Any

from mixmood.core.options import option
from mixmood.features.plan import ExtractionPlan, groups_option, labels_option


@dataclass(frozen=True, kw_only=True)
class CheckPlan(ExtractionPlan):
    """What a check of labels is asked for; command line and Python share it."""

    against: Any = option(
        None,
        "Test images: copies and near copies of them among the labelled ones are found.",
        metavar="TEST",
    )
    groups: str | None = groups_option()
    labels: tuple[str, ...] = labels_option()
