"""Which backbone, at which resolution and depth? What was asked for, or the labelled images decide.

All commands with labelled images ask here, so that the same labelled set has the same view in each.
"""

from collections.abc import Mapping

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError, OptionError
from mixmood.core.listener import Listener
from mixmood.core.seeds import rng_for
from mixmood.data.images.labels import groups_of, needed_labels
from mixmood.data.images.pool import FeatureSource, ImageSource, Pool
from mixmood.evidence.labelled import MOST_JUDGED
from mixmood.evidence.view import ChosenView, ViewChoice, ViewEvidence
from mixmood.features.backbones.backbone import Backbone, asked_views
from mixmood.features.backbones.registry import is_auto, load_backbone, names_to_compare
from mixmood.features.backbones.view import BackboneView
from mixmood.features.plan import ViewPlan
from mixmood.features.sample import Extractor


def choose_view(
    labelled: Pool,
    plan: ViewPlan,
    *,
    jobs: int | None = None,
    groups: str | None = None,
    cache: FeatureCache | None = None,
    listener: Listener,
    with_last: bool = False,
) -> ChosenView | None:
    """The backbone and the view for a labelled set; None for features, which have theirs.

    Without classes, or with one image a class, there is nothing to compare: the largest view is
    used. With 4, 12 and 30 labels a class, 224 px and both depths had 88.1, 92.5 and 94.5 % right
    on development tasks; a choice 88.2, 93.1 and 94.7 %; 96 px and the last layer 79.8, 86.1 and
    89.2 %. InputError if several backbones are to be compared then.

    Args:
        labelled: The labelled images.
        plan: Backbone, resolution, depth and device.
        jobs: Working threads.
        groups: Which labelled images are held out together: a column, or a pattern on the path.
        cache: Where features are kept.
        listener: Gets progress.
        with_last: Whether the last layer is computed in any case, for distances.
    """
    if isinstance(labelled, FeatureSource):
        return None
    names: tuple[str, ...] = (plan.backbone,)
    left_out: dict[str, str] = {}
    if is_auto(plan.backbone):
        names, left_out = names_to_compare(plan.backbone)
    networks = {name: _loaded(name, plan, listener) for name in names}
    if is_auto(plan.backbone):
        _check_comparable(networks)
    candidates = tuple(
        BackboneView(name, view)
        for name, network in networks.items()
        for view in asked_views(network, plan.resolution, plan.depth)
    )

    def chosen(choice: ViewChoice, evidence: ViewEvidence | None = None) -> ChosenView:
        name, view = choice.chosen.backbone, choice.chosen.view
        backbone = networks[name].at(view, with_last=with_last)
        return ChosenView(backbone, name, choice, evidence, left_out)

    if len(candidates) == 1:
        return chosen(ViewChoice(candidates[0], f"{candidates[0].view}: no other view was asked."))
    try:
        extractor = Extractor(None, jobs, cache, listener)
        evidence, is_all = _evidence(labelled, networks, candidates, groups, extractor)
        return chosen(evidence.choice, evidence if is_all else None)
    except InputError as error:
        if len(names) > 1:
            raise InputError(f"--backbone auto compares by cross-validation. {error}") from error
        why = f"{candidates[-1].view}, the largest view: there is nothing to compare views by."
        return chosen(ViewChoice(candidates[-1], why))


def largest_asked(plan: ViewPlan, listener: Listener) -> Backbone:
    """The backbone in the view that was asked for; in its largest where no labels can decide."""
    network = _loaded(plan.backbone, plan, listener)
    return network.at(asked_views(network, plan.resolution, plan.depth)[-1])


def _loaded(name: str, plan: ViewPlan, listener: Listener) -> Backbone:
    side = plan.resolution if isinstance(plan.resolution, int) else None
    return load_backbone(name, side, plan.device, listener=listener)


def _check_comparable(networks: Mapping[str, Backbone]) -> None:
    for name, network in networks.items():
        if network.is_batch_dependent:
            raise OptionError(
                f"--backbone auto cannot compare {name}: an image's features depend on its batch. "
                "Leave it out."
            )


def _evidence(
    labelled: ImageSource,
    networks: Mapping[str, Backbone],
    candidates: tuple[BackboneView, ...],
    groups: str | None,
    extractor: Extractor,
) -> tuple[ViewEvidence, bool]:
    """The labelled images in all views, and whether they are all of them."""
    labels = needed_labels(labelled)
    asked: Rows = np.arange(len(labelled))
    if len(asked) > MOST_JUDGED:
        # Not by the seed of the command: the same labelled set has the same view.
        rng = rng_for(0, "view", "sample")
        asked = np.sort(rng.choice(len(asked), MOST_JUDGED, replace=False))
    samples = extractor.read_views(networks, candidates, labelled, asked)
    first = samples[candidates[0]].not_empty()
    members = groups_of(labelled, groups)
    members = None if members is None else members[first.rows]
    features = {one: sample.features for one, sample in samples.items()}
    evidence = ViewEvidence(features, labels.codes[first.rows], first.digests, members)
    _ = evidence.choice  # InputError if there is none
    return evidence, len(asked) == len(labelled)
