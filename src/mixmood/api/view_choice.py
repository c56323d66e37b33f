"""In which view are sets seen: which backbone, at which resolution and depth?

It is what was asked for, or the labelled images decide. All commands with labelled images ask here,
so that the same labelled set has the same view in each.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mixmood.core.arrays import Rows
from mixmood.core.cache import open_cache
from mixmood.core.errors import InputError, OptionError
from mixmood.core.listener import Listener, Silent
from mixmood.core.seeds import rng_for
from mixmood.data.images.labels import groups_of, needed_labels
from mixmood.data.images.names import MIDDLE
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import FeatureSource, ImageSource, Pool, scaled_alike
from mixmood.data.open import open_pool
from mixmood.data.readers.given_labels import GivenLabels, with_labels
from mixmood.evidence.labelled import MOST_JUDGED
from mixmood.evidence.view import ChosenView, ViewChoice, ViewEvidence
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.registry import is_auto, load_backbone, names_to_compare
from mixmood.features.backbones.view import BackboneView
from mixmood.features.extract import Extractor
from mixmood.features.plan import ExtractionPlan
from mixmood.jobs.local import checked_jobs
from mixmood.ranking.plan import RankingPlan
from mixmood.selection.plan import CheckPlan, FilterPlan, NextPlan
from mixmood.ssl.plan import TrainingRunPlan

SetsPlan = CheckPlan | FilterPlan | NextPlan | RankingPlan | TrainingRunPlan
AnyPlan = ExtractionPlan | TrainingRunPlan


@contextmanager
def reading(plan: AnyPlan, listener: Listener | None) -> Iterator[Extractor]:
    """What reads for a command, with its cache, threads and listener; it has no backbone yet.

    Meanwhile BLAS has one thread: ours use all cores, and products are small. With two threads on
    two cores a `rank` of 2,000 labelled features takes twice the processor time and 1.2 times as
    long (`python -m benchmarks threads`), beside another program 2.6 times as long.
    """
    listener = listener or Silent()
    one_thread = threadpool_limits(1, user_api="blas")
    with one_thread, open_cache(plan.cache, listener) or nullcontext() as cache:
        n_threads = plan.jobs if isinstance(plan, ExtractionPlan) else plan.threads
        yield Extractor(None, n_threads, cache, listener)


def open_labelled(what: Any, plan: SetsPlan, reader: Extractor, role: str = "labelled set") -> Pool:
    """The labelled images, or others with classes, opened for a command."""
    frames = getattr(plan, "frames", MIDDLE)
    return open_pool(what, seed=plan.seed, cache=reader.cache, role=role, frames=frames)


@dataclass(frozen=True)
class SetsInView:
    """A labelled set and pools, scaled alike and seen in one view."""

    opened: Pool  # the labelled set as it was opened
    labelled: Pool  # the same with corrections and with labelled images of the pools
    pools: dict[str, Pool]  # as they were opened
    unlabelled: dict[str, Pool]  # without the images that have a label now or belong to no class
    emptied: dict[str, str]  # why nothing is left then of the other pools
    given: GivenLabels  # what the files with labels say of the pools
    view: ChosenView | None  # why the backbone looks at images as it does; None for features
    extractor: Extractor  # reads features in this view

    @property
    def pixel_range(self) -> PixelRange | None:
        """How images of more than eight bits are scaled; None if there are none."""
        return None if isinstance(self.opened, FeatureSource) else self.opened.pixel_range

    @property
    def view_entry(self) -> dict[str, Any] | None:
        """The entry `view` of a record."""
        return None if self.view is None else self.view.describe()


def sets_in_view(
    labelled: Pool,
    pools: Mapping[str, Pool],
    plan: SetsPlan,
    reader: Extractor,
    *,
    with_last: bool = False,
) -> SetsInView:
    """The sets in the view that the labelled images, as they were opened, choose.

    The reader's listener gets a note where backbones were compared, or nothing could be. With
    `with_last`, the last layer is computed in any case, for distances.
    """
    groups_of(labelled, plan.groups)  # wrong groups are refused before images are read
    base, scaled_pools = scaled_alike(labelled, pools)
    view = _chosen_view(base, plan, reader, with_last)
    given = with_labels(plan.labels, base, scaled_pools)
    if given.labelled is not base and view is not None:
        # The accuracy of views was measured on other images and labels.
        view = replace(view, evidence=None)
    extractor = replace(reader, backbone=None if view is None else view.backbone)
    left, emptied = given.left(scaled_pools)
    return SetsInView(base, given.labelled, scaled_pools, left, emptied, given, view, extractor)


def _chosen_view(
    labelled: Pool, plan: SetsPlan, extractor: Extractor, with_last: bool
) -> ChosenView | None:
    """The backbone and the view for a labelled set; None for features, which have theirs.

    Without classes, or with one image a class, there is nothing to compare: the largest view is
    used. With 4, 12 and 30 labels a class, 224 px and both depths had 88.1, 92.5 and 94.5 % right
    on development tasks; a choice 88.2, 93.1 and 94.7 %; 96 px and the last layer 79.8, 86.1 and
    89.2 %. InputError if several backbones are to be compared then.
    """
    if isinstance(labelled, FeatureSource):
        return None
    names: tuple[str, ...] = (plan.backbone,)
    left_out: dict[str, str] = {}
    if is_auto(plan.backbone):
        names, left_out = names_to_compare(plan.backbone)
    networks = {name: _loaded(name, plan, extractor.listener) for name in names}
    for name, network in networks.items():
        if is_auto(plan.backbone) and network.is_batch_dependent:
            raise OptionError(
                f"--backbone auto cannot compare {name}: an image's features depend on its batch. "
                "Leave it out."
            )
    candidates = tuple(
        BackboneView(name, view)
        for name, network in networks.items()
        for view in network.views(plan.resolution, plan.depth)
    )

    def chosen(choice: ViewChoice, evidence: ViewEvidence | None = None) -> ChosenView:
        name, view = choice.chosen.backbone, choice.chosen.view
        backbone = networks[name].at(view, with_last=with_last)
        return ChosenView(backbone, name, choice, evidence, left_out)

    if len(candidates) == 1:
        return chosen(ViewChoice(candidates[0], f"{candidates[0].view} is the only one."))
    try:
        evidence, is_all = _evidence(labelled, networks, candidates, plan.groups, extractor)
        if len(names) > 1:
            extractor.listener.note(evidence.choice.reason)
        return chosen(evidence.choice, evidence if is_all else None)
    except InputError as error:
        if len(names) > 1:
            raise InputError(f"--backbone auto compares by cross-validation. {error}") from error
        why = (
            f"{candidates[-1].view} (the largest view): views are compared on labelled images, at "
            "least two of a class."
        )
        extractor.listener.note(why)
        return chosen(ViewChoice(candidates[-1], why))


def largest_asked(plan: ExtractionPlan, listener: Listener) -> Backbone:
    """The backbone in the view that was asked for; in its largest where no labels can decide."""
    network = _loaded(plan.backbone, plan, listener)
    return network.at(network.views(plan.resolution, plan.depth)[-1])


def _loaded(name: str, plan: ExtractionPlan | TrainingRunPlan, listener: Listener) -> Backbone:
    side = plan.resolution if isinstance(plan.resolution, int) else None
    return load_backbone(name, side, plan.device, listener=listener)


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
    codes, n_threads = labels.codes[first.rows], checked_jobs(extractor.jobs)
    evidence = ViewEvidence(features, codes, first.digests, members, n_threads)
    _ = evidence.choice  # InputError if there is none
    return evidence, len(asked) == len(labelled)
